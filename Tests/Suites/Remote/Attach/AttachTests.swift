internal import CLagRemote
internal import Foundation
internal import Synchronization
internal import TestSupport
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

/// Whether the kernel permits counting waits; otherwise the threads are stopped.
private let canCount: Bool = {
    let counter = clr_wait_counter_open(0, 0x1000)
    if counter >= 0 { close(counter) }
    return counter >= 0
}()

@Suite(.serialized) struct AttachTests {
    @Test func `a stall in a handler that sleeps is reported with its stack`() throws {
        let process = try AttachedProcess("sleep")
        defer { process.end() }
        let line = try process.line("end")
        #expect(line["pid"] as? Int == Int(process.pid) && line["loop"] as? String == "main")
        #expect(line["cause"] as? String == "syscall" && line["capture"] as? String == "passive", "\(line)")
        #expect(line["culprit"] as? String == "handler_that_sleeps")
    }

    @Test(arguments: [true, false]) func `a stall in a handler that computes is reported with its stack`(mayCount: Bool) throws {
        let process = try AttachedProcess("compute", mayCount: mayCount)
        defer { process.end() }
        let line = try process.line("end")
        let time = try process.processorTime(of: line)
        // A thread that waits for a processor can be neither sampled nor stopped.
        let isTaken = ["perf_event", "ptrace"].contains(line["capture"] as? String)
        guard isTaken || time.alwaysAnswersInTime else { return }
        #expect(isTaken && line.functions().contains("handler_that_computes"), "\(time): \(line)")
    }

    /// The bounds of a duration always hold. If the kernel records context switches, the duration of most stalls is exact on any
    /// machine.
    @Test func `a duration is within its bounds, and exact if the kernel records context switches`() throws {
        let process = try AttachedProcess("timed")
        defer { process.end() }
        process.waitUntilWatched()
        let found = try process.ended(6).map { line in (line: line, measured: try process.measured(line)) }
        var errors: [Double] = []
        for (line, measured) in found {
            let duration = try #require(line["duration_ms"] as? Double)
            let least = line["duration_min_ms"] as? Double ?? duration
            let most = line["duration_max_ms"] as? Double ?? duration
            let (inner, outer) = (Double(measured.end - measured.begin) / 1e6, Double(measured.after - measured.before) / 1e6)
            // A line's times are rounded down to a µs.
            #expect(least <= duration && duration <= most && least <= outer && inner <= most + 0.001, "\(measured): \(line)")
            errors.append(abs(duration - inner) / inner)
        }
        var switches = clr_switches()
        guard canCount, clr_switches_open(process.pid, &switches) == 0 else { return }
        clr_switches_close(&switches)
        // With samples alone the error is 10 ms, 4 % of these stalls.
        #expect(errors.sorted()[errors.count / 2] < 0.01, "\(errors)")
    }

    @Test func `a loop on a thread other than the main thread is found`() throws {
        let process = try AttachedProcess("thread")
        defer { process.end() }
        let line = try process.line("end")
        #expect(line["loop"] as? String == "worker")
        #expect(line["thread_name"] as? String == "worker" && line["thread_id"] as? Int != Int(process.pid))
    }

    @Test(arguments: [SIGKILL, SIGTERM]) func `a hang during which the process is killed is reported`(signal: Int32) throws {
        let process = try AttachedProcess("hang")
        defer { process.end() }
        for _ in 0..<1000 where process.watch.statistics.stalls == 0 { usleep(10_000) }
        kill(process.pid, signal)
        let line = try process.line("abandoned")
        #expect(line["thread_name"] as? String == "ForeignProbe", "the name is read while the thread lives")
        #expect(line.functions().contains("handler_that_hangs"), "\(line.functions())")
        for _ in 0..<1000 where !process.watch.isOver { usleep(10_000) }
        #expect(process.watch.isOver)
    }

    @Test func `a stopped process is not reported as a stall`() throws {
        let process = try AttachedProcess("calm")
        defer { process.end() }
        process.waitUntilWatched()
        kill(process.pid, SIGSTOP)
        usleep(700_000)
        kill(process.pid, SIGCONT)
        usleep(300_000)
        let lines = withoutRunqueue(process.sink.lines)
        #expect(lines.isEmpty, "\(lines)")
    }

    /// The time that a hypervisor took from this machine's processors: the eighth number of the first line of `/proc/stat`, in
    /// hundredths of a second.
    private static func stolenMilliseconds() -> Int {
        let text = (try? String(contentsOfFile: "/proc/stat", encoding: .utf8)) ?? ""
        let fields = text.prefix { $0 != "\n" }.split(separator: " ")
        return fields.count > 8 ? (Int(fields[8]) ?? 0) * 10 : 0
    }

    /// Every sample finds the loop busy in the same function. Still it is not a stall.
    @Test(arguments: ["around", "calls"], [true, false])
    func `a loop that iterates without ever sleeping is not reported as a stall`(
        name: String,
        mayCount: Bool
    )
        throws
    {
        let process = try AttachedProcess(name, mayCount: mayCount)
        defer { process.end() }
        process.waitUntilWatched()
        let before = try AttachedProcess.schedulerTimes(of: process.pid)
        let stolenBefore = Self.stolenMilliseconds()
        usleep(3_000_000)
        let stolen = Self.stolenMilliseconds() - stolenBefore
        let delay = try AttachedProcess.schedulerTimes(of: process.pid).waitingNanoseconds - before.waitingNanoseconds
        let lines = process.sink.lines
        // On a busy machine it may have waited for a processor as long as the threshold: a stall, and its record says so.
        if delay < 150_000_000, stolen < 100 {
            #expect(lines.isEmpty, "\(lines)")
        } else {
            let delays = try lines.map { line in
                let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
                return object["run_delay_ms"] as? Double ?? 0
            }
            // While a virtual machine is paused, neither the program nor its watcher can know. Each such pause lasts at least as
            // long as the threshold.
            let unknown = stolen < 100 ? 0 : max(1, stolen / 150)
            #expect(delays.count { $0 <= 20 } <= unknown, "waited for \(delay) ns, \(stolen) ms stolen: \(lines)")
        }
    }

    @Test func `only loops on the selected threads of an attached process are watched`() throws {
        let process = try AttachedProcess("names", selection: LoopSelection(processes: ["Foreign*"], threads: ["work*", "late"]))
        defer { process.end() }
        let names = { process.watch.watchedProcess?.loops.map(\.name).sorted() ?? [] }
        #expect(eventually { names() == ["late", "worker"] }, "\(names())")
        #expect(process.watch.begunLoops == 2)
    }

    @Test(arguments: [
        (
            LoopSelection(processes: ["redis*"]),
            "its name, ForeignProbe, is not selected (process redis*): nothing is watched so far"
        ),
        (
            LoopSelection(threads: ["redis*"]),
            "no thread that is selected (thread redis*) was seen to rest in epoll_wait, poll or select yet: nothing is watched so far; "
                + "its threads are ForeignProbe, late, main, worker"
        ),
    ])
    func `a selection that matches nothing is reported`(selection: LoopSelection, expected: String) throws {
        let errors = Mutex<[String]>([])
        let process = try AttachedProcess("names", selection: selection) { error in errors.withLock { $0.append(error) } }
        defer { process.end() }
        #expect(eventually { errors.withLock { !$0.isEmpty } })
        #expect(errors.withLock { $0 } == ["process \(process.pid): \(expected)"])
        // A process that is not selected is not watched.
        let silence = selection.threads.isEmpty ? nil : expected
        #expect(eventually { process.watch.watchedProcess?.silence == silence })
        #expect(process.watch.begunLoops == 0 && process.watch.watchedProcess?.loops.isEmpty ?? true)
    }

    @Test func `a program that the process executes is watched as well`() throws {
        let process = try AttachedProcess("exec")
        defer { process.end() }
        #expect(try process.line("end").functions().contains("handler_that_sleeps"))
    }

    /// However the watcher ends, the target continues.
    @Test(arguments: ["counted", "held"]) func `killing the watcher does not leave the target stopped`(way: String) throws {
        let target = try AttachedProcess.start("around")
        defer { AttachedProcess.end(target) }
        usleep(500_000)
        var random = SeededGenerator(seed: 1)
        for round in 0..<10 {
            let watcher = Process()
            let output = Pipe()
            watcher.executableURL = AttachedProcess.folder.appendingPathComponent("MonitorProbe")
            watcher.arguments = ["attach", "\(target.processIdentifier)", way]
            watcher.standardOutput = output
            try watcher.run()
            usleep(UInt32.random(in: 50_000...400_000, using: &random))
            kill(watcher.processIdentifier, SIGKILL)
            watcher.waitUntilExit()
            let before = try AttachedProcess.schedulerTimes(of: target.processIdentifier).runningNanoseconds
            var after = before
            for _ in 0..<1000 where after == before {
                usleep(10_000)
                after = try AttachedProcess.schedulerTimes(of: target.processIdentifier).runningNanoseconds
            }
            #expect(after > before && target.isRunning, "round \(round)")
            let status = try String(contentsOfFile: "/proc/\(target.processIdentifier)/status", encoding: .utf8)
            #expect(status.contains("TracerPid:\t0"))
        }
    }
}
