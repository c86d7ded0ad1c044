"""The programs of Scripts/wrap: how each one is started, stalled and loaded."""
import dataclasses
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time
import typing

from harness import Failure, Load, Server, free_port, repeat_client, run_client, wait_until

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass
class Stall:
    """A way to block a program's loop. `block` returns when the loop is free again; it may return a time, by the monotonic
    clock, before which the loop was not blocked. `native`: the symbol of a frame that the record must contain."""

    name: str
    block: typing.Callable[[Server], typing.Optional[float]]
    native: str
    cause: str


class Program:
    def __init__(self, folder):
        self.folder = folder

    def server(self, watch=None):
        port = free_port()
        return Server(self.folder, self.command(port), port, watch)

    def greet(self, server):
        """Sends a small request; after a few of them lagmond has recognised the loop."""
        raise NotImplementedError

    def prepare(self, server):
        """Called before the stalls."""

    def load_of(self, server, processors):
        """A full load, which can be paused and counts its responses, on these processors."""
        raise NotImplementedError

    def load(self, server, seconds):
        """Loads it like a user for this many seconds, on any processor."""
        raise NotImplementedError


class HTTPProgram(Program):
    def greet(self, server):
        server.get("/")

    def load(self, server, seconds):
        self.check(run_client(self.wrk(server, seconds), seconds))

    def load_of(self, server, processors):
        # The same request as wrk sends.
        length = server.answer_bytes(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
        return Load(self.wrk(server, 1000), processors, length, self.check)

    def wrk(self, server, seconds):
        return ["wrk", "-t1", "-c32", f"-d{seconds}s", f"http://127.0.0.1:{server.port}/"]

    def check(self, text):
        if "requests in" not in text or "Non-2xx" in text or "Socket errors" in text:
            raise Failure(f"wrk had errors: {text}")


class Redis(Program):
    name = "redis-server"

    def command(self, port):
        return ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--enable-debug-command", "yes"]

    def greet(self, server):
        server.exchange(b"PING\r\n")

    def prepare(self, server):
        # Creates a million keys, in portions that are too small to stall redis.
        for portion in range(50):
            self.call(server, b"DEBUG POPULATE 20000 portion%d" % portion)
        # Determines the length of the script for this machine by CPU time, which does not depend on other load.
        before = sum(server.processor_seconds())
        self.script(server, 2_000_000)
        self.turns = int(2_000_000 * 0.5 / (sum(server.processor_seconds()) - before))

    def script(self, server, turns):
        source = f"local i=0; for j=1,{turns} do i=i+1 end; return i"
        if not server.exchange(f'EVAL "{source}" 0\r\n'.encode()).startswith(b":"):
            raise Failure("redis-server rejected the script")

    def stalls(self):
        def command(text):
            return lambda server: self.call(server, text)

        return [
            Stall("DEBUG SLEEP", command(b"DEBUG SLEEP 0.4"), r"debugCommand", "syscall"),
            Stall("KEYS * of a million", self.keys, r"keysCommand", "cpu"),
            Stall("a slow script", lambda server: self.script(server, self.turns), r"evalGenericCommand|evalCommand", "cpu"),
        ]

    def call(self, server, text):
        if not server.exchange(text + b"\r\n").startswith(b"+OK"):
            raise Failure(f"redis-server rejected {text}")

    def keys(self, server):
        with subprocess.Popen(
            ["redis-cli", "-p", str(server.port), "KEYS", "*"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        ) as client:
            client.wait(timeout=30)

    def load(self, server, seconds):
        repeat_client(["redis-benchmark", "-p", str(server.port), "-n", "100000", "-q"], seconds)

    def load_of(self, server, processors):
        command = ["redis-benchmark", "-p", str(server.port), "-t", "set", "-n", "1000000000", "-q"]
        return RedisLoad(command, processors, lambda: self.processed(server))

    def processed(self, server):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            connection.sendall(b"INFO stats\r\n")
            with connection.makefile("rb") as answer:
                for line in answer:
                    if line.startswith(b"total_commands_processed:"):
                        return int(line.split(b":")[1])
        raise Failure("redis-server does not report its number of commands")


class RedisLoad(Load):
    """redis-benchmark uses system calls that the kernel does not count as reads, so this uses the number of commands that the server reports."""

    def __init__(self, command, processors, processed):
        super().__init__(command, processors)
        self.answers = processed

    def finish(self):
        self.kill()


class Nginx(HTTPProgram):
    name = "nginx"
    ECHO = pathlib.Path("/usr/lib/nginx/modules/ngx_http_echo_module.so")

    def command(self, port):
        # If it runs as root, its worker drops the privileges, and must still be able to enter the folder.
        self.folder.chmod(0o755)
        home = self.folder / f"nginx-{port}"
        home.mkdir()
        (home / "index.html").write_text("hello\n")
        os.mkfifo(home / "access.log")
        # nginx would block when it opens its log if the pipe had no reader.
        self.reader = subprocess.Popen(["cat", home / "access.log"], stdout=subprocess.DEVNULL)
        temporary = "".join(f"{kind}_temp_path {home}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        echo = self.ECHO.exists()
        (home / "nginx.conf").write_text(
            f"""{f"load_module {self.ECHO};" if echo else ""}
            daemon off; worker_processes 1; pid {home}/pid; error_log {home}/error.log;
            events {{ worker_connections 512; }}
            http {{
                access_log off; root {home}; large_client_header_buffers 4 16k; {temporary}
                server {{
                    listen 127.0.0.1:{port};
                    location / {{ }}
                    location /logged/ {{ access_log {home}/access.log; return 200 "logged"; }}
                    {'location /sleep { echo_blocking_sleep 0.4; echo slept; }' if echo else ""}
                }}
            }}"""
        )
        return ["nginx", "-p", str(home), "-c", str(home / "nginx.conf")]

    def server(self, watch=None):
        server = super().server(watch)
        server.companion = self.reader
        return server

    def stalls(self):
        stalls = [Stall("a log that is not read", self.full_log, r"ngx_http_free_request|ngx_http_log_.*", "syscall")]
        if self.ECHO.exists():
            stalls.append(
                Stall("a sleep in a module", lambda server: server.get("/sleep"), r"ngx_http_echo_exec_echo_blocking_sleep", "syscall")
            )
        return stalls

    def full_log(self, server):
        """Sends requests until the pipe is full. Then the worker responds, and blocks when it writes to its log."""
        reader = server.companion
        reader.send_signal(signal.SIGSTOP)
        try:
            answered = None
            for _ in range(100):
                asked = time.monotonic()
                try:
                    server.get("/logged/" + "a" * 4000, timeout=0.1)
                except (TimeoutError, socket.timeout):
                    break
                answered = asked
            else:
                raise Failure("nginx wrote 400 kB to a pipe without a reader")
            time.sleep(0.3)
            return answered
        finally:
            reader.send_signal(signal.SIGCONT)


class Node(HTTPProgram):
    name = "node"

    def command(self, port):
        self.fifo = self.folder / f"fifo-{port}"
        os.mkfifo(self.fifo)
        return ["node", str(HERE / "http-server.js"), str(port), str(self.fifo)]

    def stalls(self):
        # Code that V8 compiled has no symbols, but its callers in the loop have.
        return [
            Stall("a loop in JavaScript", lambda server: server.get("/loop"), r"uv_run", "cpu"),
            Stall("a loop that hashes", lambda server: server.get("/hash"), r"node::crypto::Hash.*", "cpu"),
            Stall("fs.readFileSync of a pipe", self.blocking_read, r"uv_fs_open|uv_fs_read", "syscall"),
        ]

    def blocking_read(self, server):
        request = threading.Thread(target=server.get, args=("/read",))
        request.start()
        time.sleep(0.4)

        def opened():
            try:
                return os.open(self.fifo, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                return None

        os.close(wait_until("node opens the pipe", opened))
        request.join(timeout=10)


class Asyncio(Program):
    name = "python3-asyncio"

    def command(self, port):
        return ["/usr/bin/python3", "-B", str(HERE / "echo_server.py"), str(port)]

    def greet(self, server):
        server.exchange(b"hello\n")

    def stalls(self):
        return [
            Stall("time.sleep in a coroutine", lambda server: server.exchange(b"sleep\n"), r"clock_nanosleep", "syscall"),
            Stall("a loop that computes", lambda server: server.exchange(b"loop\n"), r"_PyEval_EvalFrameDefault", "cpu"),
        ]

    def client(self, server, seconds):
        return ["/usr/bin/python3", "-B", str(HERE / "echo_load.py"), str(server.port), str(seconds), "100"]

    def load(self, server, seconds):
        run_client(self.client(server, seconds), seconds)

    def load_of(self, server, processors):
        return Load(self.client(server, 1000), processors, server.answer_bytes(b"x" * 63 + b"\n"))


class SwiftNIO(HTTPProgram):
    """Examples/PlainNIOServer, which does not contain LagMonitor."""

    name = "swiftnio"

    def command(self, port):
        return [os.environ["WRAP_NIO_SERVER"], str(port)]

    def stalls(self):
        return [
            Stall("a sleep in a handler", lambda server: server.get("/sleep"), r".*RequestHandler\.waitForASlowStore", "syscall"),
            Stall("a loop that computes", lambda server: server.get("/compute"), r".*RequestHandler\.resizeAnImage", "cpu"),
        ]


PROGRAMS = {program.name: program for program in (Redis, Nginx, Node, Asyncio, SwiftNIO)}
