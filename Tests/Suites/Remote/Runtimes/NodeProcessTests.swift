internal import Foundation
internal import Glibc
internal import LagActivity
internal import LagCapture
internal import LagModel
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// A node that stalls, watched from here.
private final class NodeProcess {
    static let path = (["/usr/bin/node", "/usr/local/bin/node"] as [String]).first { access($0, X_OK) == 0 }

    static let program = """
        const cell = new Int32Array(new SharedArrayBuffer(4));
        class Shop {
          checkout() {
            return [1].map((number) => wait(number));
          }
        }
        function wait(number) {
          if (number === 1 && process.argv[2] === 'sleep') {
            Atomics.wait(cell, 0, 0, 600000);
          }
          return number;
        }
        function spin() {
          const start = Date.now();
          while (Date.now() - start < 600000);
        }
        function leaf(isLast) {
          return isLast ? Atomics.wait(cell, 0, 0, 600000) : 1;
        }
        function branch(isLast) {
          return leaf(isLast);
        }
        setTimeout(function run() {
          console.log('ready');
          if (process.argv[2] === 'spin') spin();
          if (process.argv[2] === 'hot') {
            for (let round = 0; round < 300000; round++) branch(false);
            branch(true);
          }
          new Shop().checkout();
        }, 10);
        """

    private let process = Process()
    private let folder = NSTemporaryDirectory() + "node-test-\(UUID().uuidString)"
    let languages: LanguageFrames
    let capture: ThreadCapture
    let frames = FrameBuffer(capacity: 256, withStackPointers: true)

    init(_ mode: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try Data(Self.program.utf8).write(to: URL(fileURLWithPath: folder + "/shop.js"))
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: Self.path ?? "")
        process.arguments = [folder + "/shop.js", mode]
        process.standardOutput = output
        try process.run()
        let pid = process.processIdentifier
        languages = LanguageFrames(process: pid) { Issue.record("\($0)") }
        languages.begin {}
        capture = try ThreadCapture(process: pid, running: TraceCapture.self, languages: languages)
        let lines = LineReader(output)
        #expect(try #require(lines.next()) == "ready")
    }

    deinit {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(atPath: folder)
    }

    func take() -> CaptureOutcome {
        let pid = process.processIdentifier
        capture.refreshModules()
        return capture.capture(ThreadIdentity(tid: pid, process: pid, stackLow: 0, stackHigh: 0), earlier: nil, into: frames)
    }

    /// Names and lines of the program's own frames, leaf first.
    func own(_ outcome: CaptureOutcome) -> [String] {
        (0..<outcome.stored).compactMap { index in
            guard frames[index].language != 0, let name = languages.name(of: frames[index].language) else { return nil }
            guard name.file?.hasSuffix("/shop.js") == true else { return nil }
            return "\(name.symbol):\(name.line ?? 0)"
        }
    }
}

@Suite(.enabled(if: NodeProcess.path != nil, "no node on this machine"))
struct NodeProcessTests {
    private static let checkout = ["wait (shop.js):9", "<anonymous> (shop.js):4", "checkout (shop.js):4", "run (shop.js):30"]
    private static let hot = ["leaf (shop.js):18", "branch (shop.js):21", "run (shop.js):28"]

    /// In the interpreter, and in code that was compiled with one function put into the other.
    @Test(arguments: [("sleep", checkout), ("hot", hot)])
    func `a thread that sleeps has the functions of JavaScript, with lines`(mode: String, expected: [String]) throws {
        let process = try NodeProcess(mode)
        var found: [String] = []
        let isFound = eventually {
            let outcome = process.take()
            found = process.own(outcome)
            return outcome.method == .passive && found == expected
        }
        #expect(isFound, "\(found)")
    }

    @Test func `a thread that runs has them, too`() throws {
        let process = try NodeProcess("spin")
        var found: [String] = []
        let isFound = eventually {
            let outcome = process.take()
            found = process.own(outcome)
            return outcome.method == .ptrace && found.last == "run (shop.js):25"
                && found.first?.hasPrefix("spin (shop.js)") == true
        }
        #expect(isFound, "\(found)")
        #expect(found.count == 2 && ["spin (shop.js):15", "spin (shop.js):0"].contains(found[0]), "\(found)")
    }
}
