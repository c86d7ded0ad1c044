internal import CLagLinux
internal import Glibc
internal import LagActivity
internal import LagModel
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// A server whose handler waits for one pipe and then leaves its loop, in a language whose calls do not nest on the C stack.
private struct Server: Sendable, CustomTestStringConvertible {
    let interpreter: String
    let file: String
    let program: String

    var testDescription: String { file }

    static let installed = [python, ruby, fiber, php].filter { access($0.interpreter, X_OK) == 0 }

    private static let python = Server(
        interpreter: "/usr/bin/python3.11",
        file: "server.py",
        program: """
            import select, socket, sys, threading

            listener = socket.create_server(("127.0.0.1", 0))

            def wait():
                select.select([listener, sys.stdin], [], [])
                sys.stdin.readline()

            def handle():
                query()

            def query():
                sys.stdin.readline()

            def loop():
                wait()
                handle()

            def serve():
                loop()

            print("ready", flush=True)
            serve()
            threading.Event().wait()
            """
    )

    private static let php = Server(
        interpreter: "/usr/bin/php8.2",
        file: "server.php",
        program: """
            <?php
            $listener = stream_socket_server("tcp://127.0.0.1:0");

            function wait() {
              global $listener;
              [$read, $write, $except] = [[$listener, STDIN], [], []];
              stream_select($read, $write, $except, null);
              fgets(STDIN);
            }

            function handle() {
              query();
            }

            function query() {
              fgets(STDIN);
            }

            function turn() {
              wait();
              handle();
            }

            function serve() {
              turn();
            }

            echo "ready\n";
            serve();
            fgets(STDIN);

            """
    )

    private static let ruby = Server(interpreter: "/usr/bin/ruby3.1", file: "server.rb", program: rubyProgram(handle: "query"))

    /// Its handler runs in a fiber, which has a stack of its own.
    private static let fiber = Server(
        interpreter: "/usr/bin/ruby3.1",
        file: "fiber.rb",
        program: rubyProgram(handle: "Fiber.new { query }.resume")
    )

    private static func rubyProgram(handle: String) -> String {
        """
        require "socket"
        $stdout.sync = true
        Listener = TCPServer.new("127.0.0.1", 0)

        def wait
          IO.select([Listener, $stdin])
          $stdin.gets
        end

        def handle
          \(handle)
        end

        def query
          sleep 0.05 until $stdin.wait_readable(0)
          $stdin.gets
        end

        def turn
          wait
          handle
        end

        def serve
          turn
        end

        puts "ready"
        serve
        sleep
        """
    }
}

struct CallChainTests {
    @Test(
        .enabled(if: !Server.installed.isEmpty, "none of python3.11, ruby3.1 and php8.2 on this machine"),
        arguments: Server.installed
    )
    private func `a wait called by a function of the loop is in a handler`(server: Server) throws {
        let process = try InterpretedProcess(server.interpreter, server.program, file: server.file)
        let examiner = LoopExaminer(ProcessHandle(process.pid), tid: process.pid, isDeclared: false)
        func call() -> cll_thread_syscall? {
            var found = cll_thread_syscall()
            return cll_procfs_syscall(process.pid, process.pid, &found) == Int32(CLL_SYSCALL_BLOCKED) ? found : nil
        }
        // Waits seen on the way there are replaced by later ones.
        let isAtRest = eventually {
            guard let call = call() else { return false }
            examiner.recordRest(call, at: 0)
            return examiner.examine(limit: call.sp, at: 0).isResting
        }
        #expect(isAtRest)
        let rest = try #require(call())

        try process.goOn()
        #expect(eventually { call().map { $0.number != rest.number || $0.sp != rest.sp } ?? false })
        // Further out on the C stack: for an action this is not a handler.
        #expect(eventually { call().map { !examiner.examine(limit: $0.sp - 1, at: 0, isYoung: true).isQuiet } ?? false })
        let above = try #require(call()).sp - 1
        #expect(examiner.proof(limit: above, at: 0)?.isLoop == false)

        try process.goOn()
        #expect(eventually { call().map { examiner.examine(limit: $0.sp - 1, at: 0).isQuiet } ?? false })
    }

    /// Functions by letter: `m` main, `l` the loop, `s` select around the wait, `h` a handler, `r` a wait outside the loop.
    @Test(arguments: [
        ("mls", "mlh", true), ("mls", "mlhx", true), ("ml", "mlh", true),
        // The loop was left.
        ("mls", "mr", false), ("mlsx", "mr", false), ("mls", "xr", false), ("mls", "", false),
        // The wait or another call of the same function.
        ("mls", "ml", false), ("ml", "ml", false), ("mls", "mls", false),
        // Too deep to show which function is the loop.
        ("mlsx", "mlh", false),
    ])
    func `a function called by the waiting function is a handler`(rest: String, now: String, isHandler: Bool) {
        func chain(_ text: String) -> CallChain { CallChain(calls: text.utf8.map { CallChain.Call(identity: UInt64($0)) }) }
        #expect(chain(now).isHandler(of: chain(rest)) == isHandler)
    }

    @Test(arguments: [("ml", "mlh", true), ("ml", "mlhx", true), ("mls", "mlh", false), ("ml", "mr", false), ("ml", "ml", false)])
    func `only a function that has called the wait itself certainly has the loop`(rest: String, now: String, isCertain: Bool) {
        func chain(_ text: String) -> CallChain { CallChain(calls: text.utf8.map { CallChain.Call(identity: UInt64($0)) }) }
        #expect(chain(now).isCertainlyHandler(of: chain(rest)) == isCertain)
    }

    @Test func `a process without such a language runtime has no call chain`() {
        var reader = CallChainReader(process: getpid(), tid: getpid())
        #expect(reader.read() == nil)
    }
}
