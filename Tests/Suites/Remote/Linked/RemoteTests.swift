internal import CLagBeacon
internal import Foundation
internal import LagRemote
internal import TestSupport
internal import Testing

@testable import LagMonitor

/// Loops of another process, which knows nothing of us, by the library that is loaded into it.
@Suite(.serialized) struct RemoteTests {
    @Test func `a handler that sleeps is found with its stack`() throws {
        let process = try RemoteProcess(["epoll", "sleep"])
        defer { process.end() }
        let line = try process.line("end")
        #expect(line["pid"] as? Int == Int(process.pid) && line["process_name"] as? String == "ForeignProbe")
        #expect(
            line["loop"] as? String == "main" && line["cause"] as? String == "syscall" && line["capture"] as? String == "passive"
        )
        #expect(line.functions().contains("handler_that_sleeps"), "\(line.functions())")
        #expect(line["culprit"] as? String == "handler_that_sleeps")
        #expect(try #require(line["duration_ms"] as? Double) >= 400)
    }

    @Test func `a handler that computes is found with its stack`() throws {
        let process = try RemoteProcess(["epoll", "compute"])
        defer { process.end() }
        let line = try process.line("end")
        let time = try process.processorTime(of: line)
        #expect(time.causes.map(\.rawValue).contains(line["cause"] as? String ?? ""), "\(time): \(line)")
        // What it had, less what it had before the library knew of the stall.
        #expect(try #require(line["cpu_ms"] as? Double) > Double(time.cpuNanoseconds) * 0.4e-6, "\(time): \(line)")
        // A thread that waits for a processor can neither be sampled nor stopped.
        let isTaken = ["perf_event", "ptrace"].contains(line["capture"] as? String)
        guard isTaken || time.alwaysAnswersInTime else { return }
        #expect(isTaken, "\(time): \(line)")
        #expect(line.functions().contains("handler_that_computes"), "\(line.functions())")
    }

    /// `thread`: beside a main thread that waits; `alone`: after that has ended, with which the process's own map is empty.
    @Test(arguments: ["thread", "alone"])
    func `a loop on another thread is found`(handler: String) throws {
        let process = try RemoteProcess(["epoll", handler])
        defer { process.end() }
        let line = try process.line("end")
        #expect(line["loop"] as? String == "worker")
        #expect(line["thread_name"] as? String == "worker" && line["thread_id"] as? Int != Int(process.pid))
        #expect(line.functions().contains("handler_that_sleeps"))
    }

    /// Whoever kills a process that hangs wants to know afterwards in what it hung.
    @Test func `a hang in which the process is killed is reported`() throws {
        let process = try RemoteProcess(["epoll", "hang"])
        defer { process.end() }
        for _ in 0..<1000 {
            if process.watch.stallsInProgress > 0 { break }
            usleep(10_000)
        }
        #expect(process.watch.stallsInProgress == 1)
        kill(process.pid, SIGKILL)
        let line = try process.line("abandoned")
        #expect(line["thread_name"] as? String == "ForeignProbe", "it is read while the thread lives")
        #expect(line.functions().contains("handler_that_hangs"), "\(line.functions())")
    }

    /// One record, without that time.
    @Test func `a stop in a stall is no part of it`() throws {
        let process = try RemoteProcess(["epoll", "hang"])
        defer { process.end() }
        #expect(eventually { process.watch.stallsInProgress == 1 })
        usleep(200_000)
        process.stop(microseconds: 800_000)
        usleep(400_000)
        kill(process.pid, SIGKILL)
        let line = try process.line("abandoned")
        #expect(process.reported.count == 1 && line.functions().contains("handler_that_hangs"), "\(process.reported)")
        let excluded = try #require(line["excluded_ms"] as? Double)
        // How long it was awake beside the stop is not known here, on a busy machine.
        #expect(excluded > 700, "\(line)")
        let duration = try #require(line["duration_ms"] as? Double)
        let (least, most) = (line["duration_min_ms"] as? Double ?? .nan, line["duration_max_ms"] as? Double ?? .nan)
        #expect(duration > 500 && least <= duration && duration <= most && most - least < 300, "\(line)")
    }

    /// The watchdog sleeps, whatever it waits for: a thread that turns without a rest would take all that there is.
    @Test func `a hang costs little however long it is`() throws {
        let process = try RemoteProcess(["epoll", "hang"])
        defer { process.end() }
        // Behind the line of a hang, and behind the first 64 ticks.
        _ = try process.line("begin")
        usleep(500_000)
        let before = ProcessTime.ownNanoseconds
        usleep(2_000_000)
        #expect(ProcessTime.ownNanoseconds - before < 600_000_000)
        process.stop(microseconds: 600_000)
        usleep(600_000)
        kill(process.pid, SIGKILL)
        let line = try process.line("abandoned")
        #expect(line["excluded_ms"] as? Double ?? 0 > 300, "\(line)")
    }

    /// A program that is stopped does not stall.
    @Test func `a stopped process is no stall`() throws {
        let process = try RemoteProcess(["epoll", "calm"])
        defer { process.end() }
        for _ in 0..<1000 where process.watch.watchedLoops == 0 { usleep(10_000) }
        #expect(process.watch.watchedLoops == 1)
        process.stop(microseconds: 700_000)
        usleep(300_000)
        #expect(process.reported.isEmpty, "\(process.reported)")
    }
}

extension RemoteProcess {
    /// Has the process stopped for so long, and go on.
    fileprivate func stop(microseconds: UInt32) {
        kill(pid, SIGSTOP)
        usleep(microseconds)
        kill(pid, SIGCONT)
    }
}

private enum ProcessTime {
    /// What all threads of this process have run.
    static var ownNanoseconds: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
