"""Runs programs bare and under lagmond, reads lagmond's records, and sends requests; for Scripts/wrap, Scripts/programs and Scripts/storm."""
import contextlib
import http.client
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import time


class Failure(Exception):
    """An error that is not part of a result: a program does not start, or a load fails."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def free_port():
    """A port below the kernel's range of ephemeral ports, so that no client's socket gets it before the server listens."""
    while True:
        port = random.randrange(10000, 32768)
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def wait_until(what, condition, seconds=10.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise Failure(f"{what}: timed out after {seconds:g} s")


def receive_until(connection, ending):
    """What arrives up to `ending`, which must end what the other side sends at once."""
    answer = b""
    while not answer.endswith(ending):
        received = connection.recv(4096)
        if not received:
            raise Failure(f"the server closed the connection after {answer}")
        answer += received
    return answer


def descendants(pid):
    """The running descendants of the process."""
    found = []
    for children in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            pids = [int(word) for word in children.read_text().split()]
        except OSError:
            continue
        for child in pids:
            found += [child, *descendants(child)]
    return found


def clock_of(pid):
    """The CPU time of all threads of a process, including exited ones, in seconds; 0 if the process has exited."""
    try:
        # The clock's ID is computed as by clock_getcpuclockid(3).
        return time.clock_gettime(~pid << 3 | 2)
    except OSError:
        return 0.0


@contextlib.contextmanager
def on_processors(processors):
    """Processes that are started inside the `with` block run only on these processors."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Watch:
    """How lagmond watches a program: `run` starts it, `attach` attaches when it listens."""

    WAYS = ("run", "attach")

    def __init__(self, lagmond, way):
        self.lagmond, self.way = lagmond, way

    def command(self, lines, rest):
        return [self.lagmond, self.way, "--hang-after-ms", "0", "--output", str(lines), *rest]


class Server:
    """A program that listens on a port, watched or bare. It is ended at the end of the `with` block."""

    def __init__(self, folder, command, port, watch=None):
        self.folder, self.port, self.watch = folder, port, watch
        self.name = pathlib.Path(command[0]).name
        self.lines = folder / f"{port}.jsonl"
        self.is_wrapped = watch is not None and watch.way == "run"
        self.command = watch.command(self.lines, ["--", *command]) if self.is_wrapped else command
        # A helper process of the program, if any.
        self.companion = None
        # The lagmond process, if it is attached.
        self.attached = None
        self.processors = os.sched_getaffinity(0)

    def on(self, processors):
        """Sets the processors on which it will run; call it before the `with`."""
        self.processors = processors
        return self

    def __enter__(self):
        self.log = open(self.folder / f"{self.port}.log", "ab")
        self.process = self.popen(self.command)
        try:
            wait_until(f"{self.name} listens", self.listens)
            if self.watch and not self.is_wrapped:
                pids = [self.process.pid, *descendants(self.process.pid)]
                self.attached = self.popen(self.watch.command(self.lines, [word for pid in pids for word in ("--pid", str(pid))]))
        except BaseException:
            self.__exit__()
            raise
        return self

    def popen(self, command):
        # The size of the environment determines where a program's stack and heap begin within their pages, and thus its speed, by up to a
        # percent (Mytkowicz et al., ASPLOS 2009). lagmond adds two entries, so the size is randomised to remove this bias.
        environment = {**os.environ, "WRAP_PADDING": "x" * random.randrange(4096)}
        with on_processors(self.processors):
            return subprocess.Popen(
                command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log
            )

    def listens(self):
        if self.process.poll() is not None:
            raise Failure(f"{self.name} exited with {self.process.returncode}; see {self.log.name} (KEEP=1)")
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            return True
        except OSError:
            return False

    def __exit__(self, *_):
        # lagmond forwards SIGTERM. If lagmond has crashed, its command still runs, and is killed below.
        below = descendants(self.process.pid)
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            for pid in [self.process.pid, *below]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.process.wait()
        if self.companion:
            self.companion.kill()
            self.companion.wait()
        if self.attached:
            # It exits when the program that it watches exits.
            self.attached.terminate()
            self.attached.wait()
        self.log.close()

    def processor_seconds(self):
        """The CPU time of lagmond (0 without it) and of the program."""
        pids = [self.process.pid, *descendants(self.process.pid)]
        times = [clock_of(pid) for pid in pids]
        if self.is_wrapped:
            return times[0], sum(times[1:])
        return clock_of(self.attached.pid) if self.attached else 0.0, sum(times)

    def records(self):
        """The complete lines about stalls so far."""
        try:
            text = self.lines.read_bytes()
        except FileNotFoundError:
            return []
        lines = [json.loads(line) for line in text[: text.rfind(b"\n") + 1].splitlines()]
        return [line for line in lines if line["event"] == "stall"]

    def get(self, path, timeout=10.0):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request("GET", path)
            return connection.getresponse().read()
        finally:
            connection.close()

    def answer_bytes(self, request):
        """The length of the response to a request that leaves the connection open."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=0.2) as connection:
            connection.sendall(request)
            length = 0
            try:
                while received := connection.recv(65536):
                    length += len(received)
            except TimeoutError:
                pass
        if length == 0:
            raise Failure(f"{self.name} does not respond to {request}")
        return length

    def exchange(self, line, timeout=10.0):
        """Sends a line over a new connection, and returns the first line of the response."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as connection:
            connection.sendall(line)
            with connection.makefile("rb") as answers:
                return answers.readline()


def run_client(command, seconds):
    """Runs a client that exits by itself after this many seconds, and returns its output. It is killed 30 seconds later."""
    try:
        result = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds + 30, text=True
        )
    except subprocess.TimeoutExpired:
        raise Failure(f"{command[0]} does not exit within {seconds + 30} s") from None
    if result.returncode != 0:
        raise Failure(f"{command[0]} exited with {result.returncode}: {result.stdout[-500:]}")
    return result.stdout


def repeat_client(command, seconds):
    """Runs a client repeatedly for this many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as client:
            try:
                if client.wait(timeout=max(0, end - time.monotonic())) != 0:
                    raise Failure(f"{command[0]} exited with {client.returncode}")
            except subprocess.TimeoutExpired:
                client.kill()


class Load:
    """A client that loads a server until it is stopped, on these processors. All responses must have the same length.

    - answer_bytes: the length of a response.
    - check: gets the client's output at the end, and raises Failure if it reports an error."""

    def __init__(self, command, processors, answer_bytes=1, check=lambda output: None):
        self.command, self.processors, self.answer_bytes, self.check = command, processors, answer_bytes, check
        self.process = None

    def start(self):
        with on_processors(self.processors):
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )

    def pause(self):
        """Stops the client, and returns when all its threads have stopped."""
        self.process.send_signal(signal.SIGSTOP)
        state = os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if state.si_code != os.CLD_STOPPED:
            raise Failure(f"{self.command[0]} exited unexpectedly: {self.process.communicate()[0][-500:]}")

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def answers(self):
        """The number of responses so far, computed from the bytes that the client has read (proc(5), /proc/PID/io)."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/io").read_text().splitlines():
            if line.startswith("rchar:"):
                return int(line.split()[1]) / self.answer_bytes
        raise Failure("the kernel does not report how many bytes a process has read")

    def finish(self):
        """Ends the client, and checks its output."""
        self.resume()
        for _ in range(100):
            # Repeated, because any thread may receive the signal, and only wrk's first thread is woken from its sleep by it.
            self.process.send_signal(signal.SIGINT)
            try:
                output, _ = self.process.communicate(timeout=0.1)
            except subprocess.TimeoutExpired:
                continue
            return self.check(output)
        raise Failure(f"{self.command[0]} does not exit")

    def kill(self):
        if self.process and self.process.returncode is None:
            self.process.kill()
            self.process.communicate()
