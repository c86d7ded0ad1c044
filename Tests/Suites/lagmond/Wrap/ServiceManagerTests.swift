internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import lagmond

/// A socket that receives `sd_notify` messages; its address is a path, or `@` and an abstract name.
final class NotifySocket {
    private let descriptor: Int32
    private(set) var messages: [String] = []

    init(_ address: String) throws {
        descriptor = try #require(boundUnixSocket(address, SOCK_DGRAM))
    }

    deinit { close(descriptor) }

    func take() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT)), count > 0 {
            messages.append(String(decoding: buffer[..<count], as: UTF8.self))
        }
    }

    func receives(_ text: String) -> Bool {
        eventually {
            take()
            return messages.contains { $0.contains(text) }
        }
    }

    func forget() { messages = [] }
}

@Suite("Notices to the service manager")
struct ServiceManagerTests {
    private static func threads(of pid: pid_t) -> [String] {
        let folder = "/proc/\(pid)/task"
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return numbers.map { text(of: "\(folder)/\($0)/comm").trimmingCharacters(in: .newlines) }
    }

    /// lagmond with one target and a manager that expects a notice within 400 ms.
    private static func withService(_ body: (RunningProbe, NotifySocket) throws -> Void) throws {
        try DaemonFolder.with { daemon in
            let address = daemon.path + "/notify"
            let socket = try NotifySocket(address)
            try daemon.write(DaemonFolder.turning)
            let running = try daemon.start(environment: ["NOTIFY_SOCKET": address, "WATCHDOG_USEC": "400000"])
            #expect(socket.receives("WATCHDOG=1"))
            try body(running, socket)
        }
    }

    /// Holds a thread of lagmond until the returned program exits.
    private static func hold(_ thread: String, of running: RunningProbe, _ socket: NotifySocket) throws -> RunningProbe {
        // The watchdog thread starts with the first loop.
        #expect(eventually { threads(of: running.pid).contains("lag-watchdog") })
        // One more complete round: a thread that is held while it begins a watch holds a lock that the main thread needs too. The
        // first message may have been sent before.
        for _ in 0..<2 {
            socket.take()
            socket.forget()
            #expect(socket.receives("WATCHDOG=1"))
        }
        let holder = try RunningProbe([ProbeRun.probe, "hold", "\(running.pid)", thread])
        try #require(holder.line() == "holding")
        return holder
    }

    @Test func `the service manager is notified of start, status, reload and stop`() async throws {
        try await atOnce([false, true]) { isAbstract in try Self.expectNotices(isAbstract: isAbstract) }
    }

    private static func expectNotices(isAbstract: Bool) throws {
        try DaemonFolder.with { daemon in
            let address = isAbstract ? "@lagmond-test-\(getpid())-\(UUID().uuidString)" : daemon.path + "/notify"
            let socket = try NotifySocket(address)
            try daemon.write(DaemonFolder.turning)
            let running = try daemon.start(environment: ["NOTIFY_SOCKET": address, "WATCHDOG_USEC": "400000", "WATCHDOG_PID": ""])
            #expect(socket.receives("READY=1"))
            #expect(socket.receives("STATUS=1 of 1 targets running"))
            // WATCHDOG_PID names no process, so lagmond does not notify the watchdog.
            usleep(500_000)
            socket.take()
            #expect(!socket.messages.contains("WATCHDOG=1"))
            kill(running.pid, SIGHUP)
            #expect(socket.receives("RELOADING=1\nMONOTONIC_USEC="))
            kill(running.pid, SIGTERM)
            #expect(socket.receives("STOPPING=1"))
            #expect(try running.end().status == 0)
        }
    }

    @Test func `the watchdog is notified while the monitor responds`() throws {
        try Self.withService { running, socket in
            socket.forget()
            #expect(socket.receives("WATCHDOG=1"))
            kill(running.pid, SIGTERM)
            let end = try running.end()
            #expect(end.status == 0)
        }
    }

    @Test func `a watch that hangs on one process is named and the watchdog notices continue`() throws {
        try Self.withService { running, socket in
            let holder = try Self.hold("lag-watchdog", of: running, socket)
            let message = try running.complaint(containing: "does not answer")
            #expect(
                message.hasPrefix("lagmond: the watch of ForeignProbe (")
                    && message.contains(") in a does not answer; its stalls")
            )
            socket.take()
            socket.forget()
            #expect(socket.receives("WATCHDOG=1"))
            #expect(try holder.end().status == 0)
            kill(running.pid, SIGTERM)
            let end = try running.end()
            #expect(end.status == 0 && end.errors.components(separatedBy: "does not answer").count == 2, "\(end.errors)")
        }
    }

    @Test func `the watchdog is not notified while a monitor thread hangs`() async throws {
        try await atOnce(["lag-loop-table", "lag-processes"]) { thread in try Self.expectNoFood(whileHolding: thread) }
    }

    private static func expectNoFood(whileHolding thread: String) throws {
        try Self.withService { running, socket in
            let holder = try Self.hold(thread, of: running, socket)
            // Messages that were already sent.
            usleep(500_000)
            socket.take()
            socket.forget()
            sleep(2)
            socket.take()
            #expect(!socket.messages.contains("WATCHDOG=1"), "\(socket.messages)")
            #expect(try holder.end().status == 0)
            #expect(socket.receives("WATCHDOG=1"))
            kill(running.pid, SIGTERM)
            let end = try running.end()
            #expect(end.status == 0 && end.errors.contains("the watch of a does not answer"), "\(end.errors)")
        }
    }

    @Test func `a target does not inherit the variables of the service manager`() throws {
        try DaemonFolder.with { daemon in
            try daemon.write(#"{"name": "a", "command": ["/usr/bin/env"]}"#)
            let variables = ["NOTIFY_SOCKET": daemon.path + "/none", "WATCHDOG_USEC": "4000000", "LISTEN_FDS": "1"]
            let run = try daemon.start(environment: variables).end()
            #expect(run.text.contains("LAGMONITOR_LOOP_TABLE="), "\(run.text)")
            #expect(variables.keys.allSatisfy { !run.text.contains($0) }, "\(run.text)")
            #expect(run.status == 0 && run.errors.contains("a: the command exited with status 0"))
            // A single wrapped command replaces lagmond in the service, and gets the manager's variables as without lagmond.
            let wrapped = try ProbeRun(ProbeRun.wrapper + ["/usr/bin/env"], environment: variables)
            #expect(variables.keys.allSatisfy { wrapped.text.contains($0) })
        }
    }

    @Test(arguments: [
        [:], ["NOTIFY_SOCKET": ""], ["NOTIFY_SOCKET": "relative"], ["NOTIFY_SOCKET": "/" + String(repeating: "a", count: 200)],
    ])
    func `nothing is notified without a valid notify socket`(environment: [String: String]) {
        #expect(ServiceManager(environment) == nil)
    }
}
