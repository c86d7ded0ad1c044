internal import CLagLinux
internal import Foundation
internal import Glibc
internal import LagActivity
internal import LagCapture
internal import LagModel
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// A stalling program in a language with a runtime, watched from here. It prints `ready` first, followed by the ID of the
/// process to watch if it forked one.
final class InterpretedProcess {
    private let process = Process()
    private let input = Pipe()
    private let folder = NSTemporaryDirectory() + "runtime-test-\(UUID().uuidString)"
    /// The suffix of files whose functions are the program's own; nil if all are.
    private let ownFile: String?
    let pid: Int32
    let languages: LanguageFrames
    let capture: ThreadCapture
    let frames = FrameBuffer(capacity: 256, withStackPointers: true)

    /// - Parameters:
    ///   - file: the file name of the program.
    ///   - options: options of the interpreter.
    init(
        _ interpreter: String,
        _ program: String,
        file: String,
        _ arguments: [String] = [],
        options: [String] = [],
        ownFile: String? = nil
    ) throws {
        self.ownFile = ownFile
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try Data(program.utf8).write(to: URL(fileURLWithPath: folder + "/" + file))
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: interpreter)
        process.arguments = options + [folder + "/" + file] + arguments
        process.standardOutput = output
        process.standardInput = input
        try process.run()
        let lines = LineReader(output)
        let words = try #require(lines.next()).split(separator: " ")
        #expect(words.first == "ready")
        let pid = words.dropFirst().first.flatMap { Int32($0) } ?? process.processIdentifier
        self.pid = pid
        languages = LanguageFrames(process: pid) { Issue.record("\($0)") }
        languages.begin {}
        capture = try ThreadCapture(process: pid, running: TraceCapture.self, languages: languages)
    }

    deinit {
        if pid != process.processIdentifier { kill(pid, SIGKILL) }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Sends a line to the program.
    func goOn() throws { try input.fileHandleForWriting.write(contentsOf: Data("go\n".utf8)) }

    /// The IDs of its threads, beginning with the first thread.
    var threads: [Int32] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")
        return (names ?? []).compactMap { Int32($0) }.sorted()
    }

    /// The chain of locks for which a thread waits.
    func chain(from tid: Int32) -> LockChain {
        let chain = LockChain(process: pid, languages: languages)
        var call = cll_thread_syscall()
        if cll_procfs_syscall(pid, tid, &call) == Int32(CLL_SYSCALL_BLOCKED) { chain.follow(tid, in: call) }
        return chain
    }

    /// The thread that holds the interpreter's lock for which the first thread waits; nil if that was never certain.
    func interpreterLockOwner() -> Int32? {
        var owner: Int32?
        _ = eventually {
            _ = take()
            let chain = chain(from: threads[0])
            guard chain.count > 1, chain[0].lock.kind == Int32(CLL_LOCK_INTERPRETER), chain.isStillHeld(0) else { return false }
            owner = chain[1].tid
            return true
        }
        return owner
    }

    /// The program's own frames of a thread, once there are any.
    func ownFrames(of tid: Int32) -> [String] {
        var frames: [String] = []
        _ = eventually {
            frames = own(take(tid))
            return !frames.isEmpty
        }
        return frames
    }

    /// The variants that distinguish functions without a name, by function.
    func variants() -> [String: String] {
        let outcome = take()
        languages.resolve()
        return (0..<outcome.stored).reduce(into: [:]) { found, index in
            let name = languages.name(of: frames[index].language)
            if let name, let variant = name.variant { found[name.function] = variant }
        }
    }

    /// - Parameter tid: the thread; nil for the first one.
    func take(_ tid: Int32? = nil) -> CaptureOutcome {
        capture.refreshModules()
        let thread = ThreadIdentity(tid: tid ?? pid, process: pid, stackLow: 0, stackHigh: 0)
        return capture.capture(thread, earlier: nil, into: frames)
    }

    /// All frames, leaf first: `C` for native frames, `?` if there is no name, otherwise symbol and line.
    func described(_ outcome: CaptureOutcome) -> [String] {
        (0..<outcome.stored).map { index in
            guard frames[index].language != 0 else { return "C" }
            return languages.name(of: frames[index].language).map { "\($0.symbol):\($0.line ?? 0)" } ?? "?"
        }
    }

    /// The names of the language's frames that have one, leaf first.
    func names(_ outcome: CaptureOutcome) -> [LanguageFrameName] {
        (0..<outcome.stored).compactMap { languages.name(of: frames[$0].language) }
    }

    /// Names and lines of the program's own frames, leaf first.
    func own(_ outcome: CaptureOutcome) -> [String] {
        (0..<outcome.stored).compactMap { index in
            guard frames[index].language != 0, let name = languages.name(of: frames[index].language) else { return nil }
            guard ownFile.map({ name.file?.hasSuffix($0) == true }) ?? true else { return nil }
            return "\(name.symbol):\(name.line ?? 0)"
        }
    }
}
