internal import CLagBeacon
internal import CLagRemote
internal import Foundation
internal import TestSupport
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

/// Programs with their own monitor: its knowledge of their loops is available here, too.
@Suite(.serialized) struct LinkedTests {
    private func start(prepare: (SharedLoopTable) throws -> Void = { _ in }) throws -> RemoteProcess {
        let process = try RemoteProcess(["linked"], program: "MonitorProbe", prepare: prepare)
        try process.nextLine(until: "ready")
        return process
    }

    /// Also waits until the loop's waits are known to the preloaded library.
    private func startWatched() throws -> RemoteProcess {
        let process = try start()
        #expect(eventually { process.watch.watchedLoops == 1 && slots(process).contains { !$0.isFromMonitor } })
        return process
    }

    private func slots(_ process: RemoteProcess) -> [SharedLoopTable.Loop] {
        (0..<UInt32(CLB_LOOP_TABLE_SLOTS)).compactMap { process.table.loop(at: $0) }
    }

    private func mirror(_ process: RemoteProcess) -> SharedLoopTable.Loop? {
        slots(process).first { $0.isFromMonitor && $0.process == process.pid && $0.state != .ended }
    }

    private func isMirrorWatched(_ process: RemoteProcess) -> Bool {
        process.watch.watchedProcesses.contains { $0.loops.contains { ($0 as? RemoteLoop)?.isFromMonitor == true } }
    }

    @Test func `a stall is reported once by the process and once from outside, with its activity`() throws {
        let process = try startWatched()
        defer { process.end() }
        process.send("s")
        let line = try process.line("end")
        #expect(line["pid"] as? Int == Int(process.pid) && line["process_name"] as? String == "MonitorProbe")
        #expect(line["loop"] as? String == "main" && line["mode"] as? String == "default")
        #expect(line["activity"] as? String == "before_sources" && line["cause"] as? String == "syscall")
        #expect(line.functions().contains { $0.contains("handlerThatStalls") }, "\(line.functions())")
        #expect(try #require(line["duration_ms"] as? Double) >= 400)
        // The process reported it as well: the same loop and the same start.
        try process.nextLine(until: "stalled")
        let own = try #require(process.nextLine())
        #expect(own.hasPrefix("reported end main "))
        let start = try #require(own.split(separator: " ").last.flatMap { UInt64($0) })
        #expect(line["mono_us"] as? UInt64 == start / 1000)
        // The preloaded library knows the thread's waits, and the stall is not reported a second time.
        // (Dispatch's thread, started by the report, may be found as well.)
        let isFromMonitor = slots(process).map(\.isFromMonitor)
        #expect(isFromMonitor.count { $0 } == 1 && isFromMonitor.contains(false))
        usleep(400_000)
        #expect(process.reported.count == 1, "\(process.reported)")
    }

    @Test func `many short callouts are reported as a starvation`() throws {
        let process = try startWatched()
        defer { process.end() }
        process.send("b")
        let line = try process.line("end")
        #expect(line["kind"] as? String == "starvation" && process.reported.count == 1, "\(process.reported)")
    }

    @Test func `a stall in a mode created later is reported without the name of the mode`() throws {
        let process = try startWatched()
        defer { process.end() }
        process.send("m")
        let line = try process.line("end")
        #expect(line["mode"] == nil && line["activity"] as? String == "before_sources")
    }

    @Test(arguments: [SIGSTOP, SIGKILL])
    func `a stall during which the process is stopped or killed is reported`(signal: Int32) throws {
        let process = try startWatched()
        defer { process.end() }
        process.send("h")
        #expect(eventually { process.watch.stallsInProgress == 1 })
        kill(process.pid, signal)
        let line = try process.line("abandoned")
        #expect(line["loop"] as? String == "main" && line["activity"] as? String == "after_waiting")
        #expect(line.functions().contains { $0.contains("handlerThatHangs") }, "\(line.functions())")
        guard signal == SIGKILL else { return }
        #expect(process.reported.count == 1 && eventually { slots(process).isEmpty })
    }

    @Test func `a stall that the watchdog of the process itself cannot report is reported from outside`() throws {
        let process = try startWatched()
        defer { process.end() }
        process.send("w")
        try process.nextLine(until: "wedged")
        process.send("s")
        let line = try process.line("end")
        #expect(line["activity"] as? String == "before_sources")
        // The process itself reports nothing, for longer than it needs for a report.
        try process.nextLine(until: "stalled")
        usleep(300_000)
        process.send("p")
        #expect(try process.nextLine(until: "did p").isEmpty)
    }

    @Test func `a forked child does not change the loop entry of its parent`() throws {
        let process = try startWatched()
        defer { process.end() }
        process.send("f")
        let line = try process.line("end")
        #expect(line["pid"] as? Int == Int(process.pid) && line["activity"] as? String == "after_waiting")
        #expect(line.functions().contains { $0.contains("waitForForkedChild") }, "\(line.functions())")
        // As long as the child ran the loop.
        #expect(try #require(line["duration_ms"] as? Double) >= 500)
        #expect(slots(process).filter(\.isFromMonitor).map(\.process) == [process.pid])
        #expect(process.reported.count == 1)
    }

    @Test func `exec ends the loop of the previous program`() throws {
        let process = try startWatched()
        defer { process.end() }
        let before = try #require(mirror(process))
        process.send("x")
        try process.nextLine(until: "ready")
        #expect(eventually { mirror(process).map { $0.claim != before.claim } ?? false })
        process.send("s")
        _ = try process.line("end")
        #expect(process.reported.count == 1, "\(process.reported)")
    }

    @Test func `a loop without a free slot is reported only by its own process`() throws {
        var claims: [UInt64] = []
        let process = try start { table in
            for _ in 0..<CLB_LOOP_TABLE_SLOTS {
                var claim: UInt64 = 0
                _ = clb_loop_table_claim_slot(table.raw, UInt32(CLB_LOOP_FROM_PRELOAD), getpid(), 0, clb_now_ns(), &claim)
                claims.append(claim)
            }
        }
        defer { process.end() }
        process.send("s")
        try process.nextLine(until: "stalled")
        #expect(process.nextLine()?.hasPrefix("reported end main ") == true)
        #expect(process.reported.isEmpty && process.table.raw.pointee.refused > 0)
        // It tries again after a thousand iterations of 5 ms each, or many times that on a busy machine.
        for (index, claim) in claims.enumerated() { _ = clr_loop_table_free(process.table.raw, UInt32(index), claim) }
        // Its report made Dispatch start the manager thread, which waits on an epoll instance and is found as well.
        #expect(eventually(seconds: 120) { isMirrorWatched(process) })
        process.send("s")
        #expect(try process.line("end")["activity"] as? String == "before_sources")
    }

    @Test func `a loop on a secondary thread is added and removed`() throws {
        let process = try startWatched()
        defer { process.end() }
        process.send("t")
        let line = try process.line("end")
        #expect(line["loop"] as? String == "worker-with-a-name" && line["thread_name"] as? String == "worker-with-a-n")
        #expect(line["thread_id"] as? Int != Int(process.pid))
        #expect(process.watch.watchedLoops == 2 && slots(process).filter(\.isFromMonitor).count == 2)
        process.send("e")
        #expect(
            eventually { !process.loopNames.contains("worker-with-a-name") && slots(process).filter(\.isFromMonitor).count == 1 }
        )
        #expect(process.reported.count == 1, "\(process.reported)")
    }

    @Test func `a paused monitor is not watched from outside either`() throws {
        let process = try startWatched()
        defer { process.end() }
        process.send("p")
        #expect(eventually { mirror(process)?.state == .paused })
        process.send("s")
        try process.nextLine(until: "stalled")
        process.send("r")
        #expect(eventually { mirror(process)?.state == .live })
        usleep(300_000)
        #expect(process.reported.isEmpty, "\(process.reported)")
        process.send("s")
        _ = try process.line("end")
    }

    /// Then it is watched like any other program.
    @Test func `a loop that the monitor no longer watches is watched by its waits`() throws {
        let process = try startWatched()
        defer { process.end() }
        process.send("u")
        #expect(eventually { mirror(process) == nil && process.watch.watchedLoops == 1 })
        process.send("s")
        let line = try process.line("end")
        #expect(line["activity"] as? String == "after_waiting" && line["mode"] == nil)
        // Watched again.
        process.send("a")
        #expect(eventually { mirror(process)?.state == .live })
        process.send("s")
        #expect(try process.line("end", after: 1)["activity"] as? String == "before_sources")
        #expect(process.reported.count == 2, "\(process.reported)")
    }

    @Test(arguments: ["", "garbage", "/etc/passwd", "/proc/self/fd/0", "/proc/1/fd/999", String(repeating: "/", count: 4000)])
    func `a path that is not a loop table is ignored`(path: String) throws {
        let process = try RemoteProcess(["linked"], program: "MonitorProbe", path: path)
        defer { process.end() }
        process.send("s")
        #expect(try process.nextLine(until: "stalled") == ["ready", "did s"])
        #expect(process.nextLine()?.hasPrefix("reported end main ") == true)
    }

    @Test func `a loop table of another version is ignored`() throws {
        let process = try start { $0.raw.pointee.version += 1 }
        defer { process.end() }
        process.send("s")
        try process.nextLine(until: "stalled")
        #expect(process.nextLine()?.hasPrefix("reported end main ") == true)
        #expect(slots(process).isEmpty)
    }

    /// Their names begin like the names of settings.
    @Test(arguments: ["LAGMONITOR_LOOP_TABLE", "LAGMONITOR_UNSUPPORTED"])
    func `reserved environment variables are not treated as settings`(name: String) {
        let environment = [name: "1"]
        #expect(SettingValidationError.validationErrors(inEnvironment: environment, known: SettingKey.monitorSettings).isEmpty)
        #expect(EnvironmentActivation().start(environment, []) { Issue.record("\($0)") } == nil)
    }
}
