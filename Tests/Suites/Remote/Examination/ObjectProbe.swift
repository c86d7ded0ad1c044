internal import CLagLinux
internal import CLagRemote
internal import Foundation
internal import LagActivity
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// A program that has an epoll instance and does with it what it is asked to.
final class ObjectProbe {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let lines: LineReader
    let handle: ProcessHandle
    let object: WaitObject
    /// The instance's descriptor, or the ring's; -1: the kernel gives none.
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

    /// What the call that the letter stands for returns in the program.
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

    /// The object of the wait that the letter stands for, while the program sleeps in it. On a busy machine it may be over before it is
    /// seen: then it is asked again.
    func sleepingObject(in letter: String) throws -> WaitObject { try sleeping(in: letter) { WaitObject(process: pid, of: $0) } }

    /// What is made of the call in which the program sleeps then.
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

    var descriptors: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0 }
}
