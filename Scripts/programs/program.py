"""The base classes of the programs in Scripts/programs: how a program starts, converses, is stalled, is loaded, and exits."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import threading
import time
import typing

from harness import Failure, run_client, wait_until
from stalls import BLOCK_SECONDS, FILE_CALL, REREAD, Fifo, Stall, block_at_file

APPS = pathlib.Path(__file__).resolve().parent / "apps"
# The virtual environment with packages from PyPI.
PYTHON = os.environ.get("PROGRAMS_PYTHON", "/usr/bin/python3")
# How long a program may take until it handles a request or signal.
REQUEST_SECONDS = 0.2


class LeftOut(Exception):
    """A program is not available or cannot run here; the message gives the reason."""


class Program:
    """One program: one class per program, one object per start."""

    name = ""
    # Whether the program was examined during the development of loop recognition: its figures are summed apart from those of unseen programs.
    is_known = False
    # The user of the processes; None: the user of this script.
    user: typing.Optional[str] = None
    needs_terminal = False
    # Whether its stdout is the same in each run. A screen is not, if its drawing depends on the order of events.
    output_is_same = True
    # The required commands and files, besides those of the base classes; packages.py has their packages.
    needs: tuple = ()
    # A loop that waits for the blocked loop, so that a stall of it during that time is true.
    waiting_loop: typing.Optional[str] = None
    # The required packages from PyPI, likewise.
    packages: tuple = ()
    # Why no stall can be caused from outside, for the table.
    no_stalls = ""
    # Declared faults: the name of a stall and its Miss; why lagmond does not act on a hang; what differs from a bare run, and why.
    misses: typing.ClassVar[dict] = {}
    no_action = ""
    differs = ""
    # The time between two clients during a hang.
    visit_seconds = 0.3
    # The share of a processor that lagmond may take while the program is idle, if it is not the usual one for its number of processes (measure.py). What
    # costs is that loops wake by themselves: lagmond follows each wake, and reads where the thread rests.
    idle_limit: typing.Optional[float] = None

    def __init__(self, home, port):
        self.home, self.port = home, port

    @classmethod
    def prepare(cls, folder):
        """Creates the files that all starts need, in the folder that will contain their home folders. Called before the first start of a run; if it
        fails, the program is left out."""

    def command(self):
        raise NotImplementedError

    def environment(self):
        return {}

    def is_ready(self, session):
        return session.accepts()

    def converse(self, session):
        """Has a short conversation with the program. Returns its text, which must be the same under lagmond."""
        return ""

    def stalls(self):
        return []

    @property
    def can_hang(self):
        """Whether `begin_hang` is implemented."""
        return type(self).begin_hang is not Program.begin_hang and not self.no_stalls

    def begin_hang(self, session, seconds):
        """Blocks the loop for this time. Returns when the block has begun."""
        raise NotImplementedError

    def end_hang(self):
        """Removes what blocks."""

    def visit(self, session):
        """What a client does during a hang: it waits for an answer."""
        self.converse(session)

    def hang(self, session, seconds):
        """Blocks the loop for this time, while clients wait. Returns when lagmond acted, in seconds since the block began; None: it did not."""
        self.begin_hang(session, seconds)
        begun = time.monotonic()
        next_visit = begun
        try:
            while time.monotonic() < begun + seconds:
                if session.actions():
                    return time.monotonic() - begun
                if time.monotonic() >= next_visit:
                    next_visit += self.visit_seconds
                    in_background(self.visit, session)
                time.sleep(0.02)
            return None
        finally:
            self.end_hang()

    def idle_clients(self):
        """The `with` block of the idle phase: clients that are connected meanwhile."""
        return contextlib.nullcontext()

    def load(self, session, seconds):
        """Loads the program for this time."""
        time.sleep(seconds)

    def end(self, session):
        session.process.terminate()

    def clean_up(self):
        """Ends the programs that it needs beside it."""

    def write(self, name, text):
        path = self.home / name
        path.write_text(text)
        return path


class Reloading(Program):
    """A server with one stall: the file `reread` is replaced with a pipe, and the server is requested to read it."""

    reread: pathlib.Path
    reload_signal = signal.SIGHUP
    frame, culprit, loop = FILE_CALL, None, "main"
    # The time that the requesting client needs to start.
    way_seconds = 0.0
    fifo: typing.Optional[Fifo] = None

    def stalls(self):
        return [Stall(REREAD, self.reload, ("syscall",), self.frame, self.culprit, loop=self.loop, way_seconds=self.way_seconds)]

    def reload(self, session):
        return block_at_file(self.reread, lambda: self.request_reload(session), lambda: self.answers(session))

    def request_reload(self, session):
        """Requests that the server read the file. Returns a function that waits for the client which did so, if any."""
        session.process.send_signal(self.reload_signal)

    def answers(self, session):
        return session.accepts()

    def begin_hang(self, session, seconds):
        # A thread that has waited only once may be in its start-up.
        self.converse(session)
        time.sleep(REQUEST_SECONDS)
        self.fifo = Fifo(self.reread)
        self.fifo.put()
        in_background(self.request_reload, session)
        time.sleep(REQUEST_SECONDS)

    def end_hang(self):
        if self.fifo:
            self.fifo.release(self.fifo.before)
            self.fifo.restore()

    def talk(self, words, lines):
        """Sends the words, and returns this many lines of the response."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection:
            connection.sendall(words)
            with connection.makefile("rb") as answers:
                return b"".join(answers.readline() for _ in range(lines)).decode(errors="replace")


class HTTPProgram(Program):
    needs = ("wrk",)
    # The path of a request whose handler blocks for eight seconds.
    hang_path = ""
    # How many processes or threads serve requests; all of them hang.
    servers = 1

    @property
    def can_hang(self):
        return super().can_hang and self.hang_path != ""

    def begin_hang(self, session, seconds):
        for _ in range(self.servers):
            in_background(session.get, self.hang_path, seconds)
            # The next request goes to another server, because this one has begun its own.
            time.sleep(REQUEST_SECONDS)

    def visit(self, session):
        session.get("/")

    def is_ready(self, session):
        # A connection without a request, so that the first request is a stall.
        return session.accepts()

    def converse(self, session):
        return "".join(session.get("/").decode() for _ in range(20))

    def load(self, session, seconds):
        text = run_client(["wrk", "-t1", "-c8", f"-d{max(1, round(seconds))}s", f"http://127.0.0.1:{self.port}/"], seconds)
        if "requests in" not in text or "Non-2xx" in text:
            raise Failure(f"wrk had errors: {text}")

    def request(self, path):
        return lambda session: session.get(path)


class HandlersOfOurs(HTTPProgram):
    """A server whose handlers are in the folder apps: they sleep, compute, or read a pipe, depending on the request's path."""

    hang_path = "/hang"

    def __init__(self, home, port):
        super().__init__(home, port)
        self.fifo = home / "fifo"
        os.mkfifo(self.fifo)

    def environment(self):
        return {"FIFO": str(self.fifo)}

    def request(self, path):
        return self.read_of_pipe if path == "/read" else super().request(path)

    def read_of_pipe(self, session):
        request = threading.Thread(target=session.get, args=("/read",))
        request.start()
        time.sleep(BLOCK_SECONDS)
        wait_until("the pipe is opened", Fifo(self.fifo).release, 5)
        request.join()


def in_background(action, *arguments):
    """Performs the action in a thread. Its errors are those of a client whose server is restarted."""
    def perform():
        try:
            action(*arguments)
        except Exception:  # noqa: BLE001
            pass

    threading.Thread(target=perform, daemon=True).start()


def talk_load(port, seconds, connections, request, end):
    run_client(["/usr/bin/python3", "-B", str(APPS / "talk_load.py"), str(port), str(seconds), str(connections), request, end], seconds)


def same_text(text):
    """Removes data that differs between starts (process IDs, ports, times), and lagmond's lines."""
    # On a terminal, lagmond's line may follow what the program wrote without a newline.
    text = re.sub(r"lagmond: [^\r\n]*\r?\n?", "", text)
    return re.sub(r"0x[0-9a-f]+|[0-9]+", "N", "\n".join(text.splitlines()))


def has_command(name):
    """Whether the command, or the file with this path, exists."""
    return os.path.exists(name) if "/" in name else shutil.which(name) is not None
