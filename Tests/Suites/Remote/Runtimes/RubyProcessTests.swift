internal import Foundation
internal import Glibc
internal import LagActivity
internal import LagCapture
internal import LagModel
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// A Ruby that sleeps, watched from here.
@Suite(.enabled(if: access("/usr/bin/ruby", X_OK) == 0, "no ruby on this machine"))
struct RubyProcessTests {
    private static let program = """
        $stdout.sync = true
        class Shop
          def checkout
            [1].each do |number|
              wait number
            end
          end

          def wait(number)
            puts "ready"
            sleep 600
          end
        end
        Shop.new.checkout
        """

    @Test func `a thread that sleeps has Ruby's frames, among those of C`() throws {
        let folder = NSTemporaryDirectory() + "ruby-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data(Self.program.utf8).write(to: URL(fileURLWithPath: folder + "/shop.rb"))
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/ruby")
        process.arguments = [folder + "/shop.rb"]
        process.standardOutput = output
        try process.run()
        let pid = process.processIdentifier
        defer {
            kill(pid, SIGKILL)
            process.waitUntilExit()
        }
        let languages = LanguageFrames(process: pid) { Issue.record("\($0)") }
        languages.begin {}
        let capture = try ThreadCapture(process: pid, running: TraceCapture.self, languages: languages)
        let frames = FrameBuffer(capacity: 256, withStackPointers: true)
        let lines = LineReader(output)
        #expect(try #require(lines.next()) == "ready")
        var found: [String] = []
        let isFound = eventually {
            capture.refreshModules()
            let identity = ThreadIdentity(tid: pid, process: pid, stackLow: 0, stackHigh: 0)
            let outcome = capture.capture(identity, earlier: nil, into: frames)
            found = (0..<outcome.stored).map { index in
                guard frames[index].language != 0 else { return "C" }
                guard let name = languages.name(of: frames[index].language) else { return "?" }
                return "\(name.symbol):\(name.line ?? 0)"
            }
            return found.filter { $0 != "C" }.count == 4
        }
        #expect(isFound, "\(found)")
        let own = found.filter { $0 != "C" }
        #expect(
            own == ["wait (shop.rb):11", "block in checkout (shop.rb):5", "checkout (shop.rb):4", "<main> (shop.rb):14"],
            "\(found)"
        )
        // `each` is between the block and the method.
        let block = try #require(found.firstIndex { $0.hasPrefix("block") })
        #expect(found[block + 1] == "C")
    }
}
