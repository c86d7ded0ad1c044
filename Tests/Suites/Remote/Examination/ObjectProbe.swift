internal import CLagLinux
internal import CLagRemote
internal import Foundation
internal import LagActivity
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// A program that has an epoll instance and uses it as commanded.
final class ObjectProbe {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let lines: LineReader
    let handle: ProcessHandle
    let object: WaitObject
    /// The descriptor of the instance or of the ring; -1 if the kernel provides none.
    let number: Int32

    init(_ kind: String) throws {
        let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        process.executableURL = folder.appendingPathComponent("ForeignProbe")
        process.arguments = ["places", "object", kind]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        handle = ProcessHandle(process.processIdentifier)
        lines = LineReader(output)
        let numbers = try #require(lines.next()).split(separator: " ").compactMap { Int32($0) }
        number = try #require(numbers.first)
        object = WaitObject(epoll: number)
    }

    deinit {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    var pid: Int32 { process.processIdentifier }

    /// The result of the call that the letter stands for, in the program.
    func ask(_ letter: String) throws -> Int {
        begin(letter)
        return try answer()
    }

    func begin(_ letter: String) { input.fileHandleForWriting.write(Data("\(letter)\n".utf8)) }
    func answer() throws -> Int { try #require(lines.next().flatMap { Int($0) }) }

    func look(_ object: WaitObject? = nil) -> WaitObject.Work {
        var signals = WaitObject.SignalMembers()
        return (object ?? self.object).work(pidfd: handle.descriptor, process: pid, tid: pid, signals: &signals)
    }

    /// The object of the wait that the letter stands for, while the program sleeps in it. On a busy machine the wait may end
    /// before it is seen: then it is repeated.
    func sleepingObject(in letter: String) throws -> WaitObject { try sleeping(in: letter) { WaitObject(process: pid, of: $0) } }

    /// The result of `make` for the call in which the program then sleeps.
    func sleeping<Found>(in letter: String, _ make: (cll_thread_syscall) -> Found?) throws -> Found {
        var found: Found?
        let isFound = try eventually {
            begin(letter)
            found = currentCall().flatMap(make)
            if found == nil { _ = try answer() }
            return found != nil
        }
        try #require(isFound)
        return try #require(found)
    }

    private func currentCall() -> cll_thread_syscall? {
        for _ in 0..<2000 {
            var call = cll_thread_syscall()
            if cll_procfs_syscall(pid, pid, &call) == Int32(CLL_SYSCALL_BLOCKED), clr_wait_kind(call.number) != 0 { return call }
            usleep(100)
        }
        return nil
    }

    func makeExaminer(isClaimed: Bool = false) -> LoopExaminer {
        LoopExaminer(handle, tid: pid, isDeclared: false, isClaimed: isClaimed)
    }

    /// The descriptors that this process has, with what they refer to; without the one of this reading. (Threads of earlier tests
    /// may still close some.)
    var descriptors: Set<String> {
        let folder = "/proc/self/fd/"
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let targets = numbers.compactMap { number in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: folder + number)).map { "\(number) \($0)" }
        }
        return Set(targets.filter { !$0.hasSuffix(" /proc/\(getpid())/fd") })
    }
}
