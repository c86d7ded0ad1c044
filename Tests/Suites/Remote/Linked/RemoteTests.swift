internal import CLagBeacon
internal import Foundation
import LagDetection
internal import Synchronization
internal import TestSupport
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

/// Loops of another, unmodified process, watched through the library that is preloaded into it.
@Suite(.serialized) struct RemoteTests {
    @Test func `a stall in a handler that sleeps is reported with its stack`() throws {
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

    @Test func `a stall in a handler that computes is reported with its stack`() throws {
        let process = try RemoteProcess(["epoll", "compute"])
        defer { process.end() }
        let line = try process.line("end")
        let time = try process.processorTime(of: line)
        #expect(time.causes.map(\.rawValue).contains(line["cause"] as? String ?? ""), "\(time): \(line)")
        // Its processor time, less the time before the library knew of the stall.
        #expect(try #require(line["cpu_ms"] as? Double) > Double(time.cpuNanoseconds) * 0.4e-6, "\(time): \(line)")
        // A thread that waits for a processor can be neither sampled nor stopped.
        let isTaken = ["perf_event", "ptrace"].contains(line["capture"] as? String)
        guard isTaken || time.alwaysAnswersInTime else { return }
        #expect(isTaken, "\(time): \(line)")
        #expect(line.functions().contains("handler_that_computes"), "\(line.functions())")
    }

    /// `thread`: the main thread waits meanwhile. `alone`: the main thread has exited, so the process's own map is empty.
    @Test(arguments: ["thread", "alone"])
    func `a loop on a thread other than the main thread is found`(handler: String) throws {
        let process = try RemoteProcess(["epoll", handler])
        defer { process.end() }
        let line = try process.line("end")
        #expect(line["loop"] as? String == "worker")
        #expect(line["thread_name"] as? String == "worker" && line["thread_id"] as? Int != Int(process.pid))
        #expect(line.functions().contains("handler_that_sleeps"))
    }

    /// After killing a hanging process, its operator wants to know where it hung.
    @Test func `a hang during which the process is killed is reported`() throws {
        let process = try RemoteProcess(["epoll", "hang"])
        defer { process.end() }
        for _ in 0..<1000 {
            if process.watch.stallsInProgress > 0 { break }
            usleep(10_000)
        }
        #expect(process.watch.stallsInProgress == 1)
        kill(process.pid, SIGKILL)
        let line = try process.line("abandoned")
        #expect(line["thread_name"] as? String == "ForeignProbe", "the name is read while the thread lives")
        #expect(line.functions().contains("handler_that_hangs"), "\(line.functions())")
    }

    /// Until then the stall would last, and its record with it.
    @Test func `an exited process is noticed when a check is requested`() throws {
        let process = try RemoteProcess(["epoll", "hang"], checkNanoseconds: 600_000_000_000)
        defer { process.end() }
        #expect(eventually { process.watch.stallsInProgress == 1 })
        kill(process.pid, SIGKILL)
        #expect(eventually { kill(process.pid, 0) != 0 })
        process.watch.checkProcesses()
        #expect(try process.line("abandoned").functions().contains("handler_that_hangs"))
    }

    /// There is one record, without the stopped time.
    @Test func `time that a process is stopped during a stall is excluded from the stall`() throws {
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
        // On a busy machine it is not known how long the process ran besides the stop.
        #expect(excluded > 700, "\(line)")
        let duration = try #require(line["duration_ms"] as? Double)
        let (least, most) = (line["duration_min_ms"] as? Double ?? .nan, line["duration_max_ms"] as? Double ?? .nan)
        #expect(duration > 500 && least <= duration && duration <= most && most - least < 300, "\(line)")
    }

    /// The watchdog must sleep whatever it waits for: a busy-waiting watchdog thread would use a whole processor.
    @Test func `watching a hang costs little processor time, however long the hang is`() throws {
        let process = try RemoteProcess(["epoll", "hang"])
        defer { process.end() }
        // After the hang's first record, and after the first 64 ticks.
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
    @Test func `a stopped process is not reported as a stall`() throws {
        let process = try RemoteProcess(["epoll", "calm"])
        defer { process.end() }
        for _ in 0..<1000 where process.watch.watchedLoops == 0 { usleep(10_000) }
        #expect(process.watch.watchedLoops == 1)
        process.stop(microseconds: 700_000)
        usleep(300_000)
        #expect(process.reported.isEmpty, "\(process.reported)")
    }

    /// As most servers do, it wakes ten times a second for some µs.
    @Test func `the timer of an idle loop seldom wakes its watchdog`() throws {
        let process = try RemoteProcess(["epoll", "timer"])
        defer { process.end() }
        #expect(eventually { process.watch.watchedLoops == 1 })
        let monitor = try #require(process.watch.watching.withLock { $0.first })
        sleep(1)
        let before = try #require(monitor.watchdogCounters).wakes
        sleep(5)
        let wakes = try #require(monitor.watchdogCounters).wakes - before
        // 50 iterations, at each of which it would wake twice or more.
        #expect((1..<50).contains(wakes), "\(wakes)")
    }
}

extension RemoteProcess {
    /// Stops the process for this time and resumes it.
    fileprivate func stop(microseconds: UInt32) {
        kill(pid, SIGSTOP)
        usleep(microseconds)
        kill(pid, SIGCONT)
    }
}

private enum ProcessTime {
    /// The processor time of all threads of this process.
    static var ownNanoseconds: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
