internal import Foundation
internal import TestSupport
internal import Testing

/// A CPython server whose handlers run their own event loops, from the first connection on. After some calls CPython calls the
/// wait function in another way, with one stack frame less.
@Suite(
    "A server whose handlers have event loops",
    .enabled(if: access("/usr/bin/python3", X_OK) == 0, "no python3 on this machine")
)
struct PythonServerTests {
    private static let program = """
        import asyncio, select, socket

        listener = socket.create_server(("127.0.0.1", 0))
        poller = select.poll()
        poller.register(listener, select.POLLIN)

        def steps(count, seconds):
            async def run():
                for _ in range(count):
                    await asyncio.sleep(seconds)
            asyncio.run(run())

        def handle(number):
            # One long wait, or many: within the first turns, and when the loop's place has moved.
            if number in (1, 7, 13): steps(1, 0.4)
            elif number in (4, 10): steps(80, 0.005)
            elif number > 0: steps(1, 0.001)

        def serve(number):
            poller.poll(20)
            client = socket.create_connection(listener.getsockname())
            poller.poll(20)
            connection, _ = listener.accept()
            handle(number)
            connection.close()
            client.close()

        for number in range(16):
            serve(number)
        """

    private static let threaded = """
        import socket, socketserver

        class Handler(socketserver.BaseRequestHandler):
            def handle(self): self.request.recv(1)

        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        client = socket.create_connection(server.server_address)
        server.serve_forever()
        """

    /// The sets of its wait need more stack than its handler.
    private static let selecting = """
        import select, socket, threading

        listener = socket.create_server(("127.0.0.1", 0))

        def serve():
            for turn in range(8):
                readable, _, _ = select.select([listener], [], [], 0.05)
                if not readable: continue
                connection, _ = listener.accept()
                waiting = socket.create_connection(listener.getsockname())
                threading.Event().wait(20)
                break

        threading.Timer(0.3, lambda: socket.create_connection(listener.getsockname())).start()
        serve()
        """

    /// The same behind functions of the program: the calls alone do not show which of them has the loop. Otherwise that loop ends
    /// while a client waits, and the main thread rests: in its caller, in a loop of that, further down in the function, or in a
    /// loop around it in the same function. Or the handler waits again and again, as when all workers are busy.
    private static let wrapped = """
        import selectors, socket, sys, threading

        listener = socket.create_server(("127.0.0.1", 0))
        selector = selectors.SelectSelector()
        selector.register(listener, selectors.EVENT_READ)
        kind = sys.argv[1]
        sockets = []

        def poll(): return selector.select(0.05)
        def ready(): return [key.fileobj for key, _ in poll()]

        def handle():
            sockets.append(listener.accept()[0])
            sockets.append(socket.create_connection(listener.getsockname()))
            if kind == "hang": threading.Event().wait(20)
            if kind == "busy":
                for _ in range(12): threading.Event().wait(0.5)
                sys.exit()

        def finish():
            threading.Event().wait(4)
            sys.exit()

        def serve():
            while not sockets:
                for _ in ready(): handle()
            if kind == "end": finish()

        def cleanup():
            try:
                while True:
                    for _ in ready():
                        handle()
                        if sockets: return
            finally:
                for _ in range(1): finish()

        def nested():
            while True:
                while not sockets:
                    for _ in ready(): handle()
                finish()

        threading.Timer(0.8, lambda: socket.create_connection(listener.getsockname())).start()
        while kind == "again":
            serve()
            finish()
        if kind == "cleanup": cleanup()
        elif kind == "nested": nested()
        else: serve()
        finish()
        """

    @Test(arguments: ["leave", "again", "end", "cleanup", "nested", "busy"])
    func `a rest after a loop behind functions around its wait, or many rests in it, lead to no action`(name: String) throws {
        let run = try Self.run(name)
        #expect(run.status == 0 && run.signal == 0 && !run.errors.contains("hanging"), "\(run.errors)")
    }

    @Test func `a hang in a loop behind functions around its wait is acted on`() throws {
        let run = try Self.run("hang")
        #expect(run.signal == SIGKILL && run.hungSeconds >= 2, "\(run.errors)")
    }

    private static func run(_ name: String) throws -> ProbeRun {
        try ProbeRun([
            ProbeRun.lagmond, "run", "--on-hang", "signal:KILL", "--on-hang-after", "2", "--output", "/dev/null", "--",
            "/usr/bin/python3", "-c", wrapped, name,
        ])
    }

    @Test func `a hang in a handler of a loop on select is acted on`() throws {
        let run = try ProbeRun([
            ProbeRun.lagmond, "run", "--on-hang", "signal:KILL", "--on-hang-after", "1", "--output", "/dev/null", "--",
            "/usr/bin/python3", "-c", Self.selecting,
        ])
        #expect(run.signal == SIGKILL && run.hungSeconds >= 1, "\(run.errors)")
    }

    @Test func `a server that serves its clients in other threads is reported`() throws {
        let run = try RunningProbe([
            ProbeRun.lagmond, "run", "--output", "/dev/null", "--", "/usr/bin/python3", "-c", Self.threaded,
        ])
        let message = try run.complaint(containing: " serves its clients in threads other than main")
        kill(run.pid, SIGTERM)
        let end = try run.end()
        #expect(message.contains("python3 [") && end.signal == SIGTERM, "\(end.errors)")
    }

    @Test func `an attached server that serves its clients in other threads is reported`() throws {
        let server = try RunningProbe(["/usr/bin/python3", "-c", Self.threaded])
        let watch = try RunningProbe([ProbeRun.lagmond, "attach", "--pid", "\(server.pid)", "--output", "/dev/null"])
        let message = try watch.complaint(containing: " serves its clients in threads other than main")
        kill(server.pid, SIGTERM)
        let end = try watch.end()
        #expect(message.contains("python3 [\(server.pid)]"), "\(end.errors)")
        #expect(try server.end().signal == SIGTERM)
    }

    @Test func `each handler with an event loop is one stall`() throws {
        try withFolder { folder in
            let output = folder + "/stalls"
            let script = folder + "/server.py"
            try Data(Self.program.utf8).write(to: URL(fileURLWithPath: script))
            let run = try ProbeRun([
                ProbeRun.lagmond, "run", "--output", output, "--", "/usr/bin/python3", script,
            ])
            #expect(run.status == 0, "\(run.errors)")
            let lines = withoutRunqueue(text(of: output).split(separator: "\n"))
            let durations = try lines.compactMap {
                (try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])?["duration_ms"] as? Double
            }
            // The parts of a split stall would be shorter.
            #expect(durations.count == 5 && durations.allSatisfy { $0 >= 380 }, "\(durations), \(run.errors)")
        }
    }
}
