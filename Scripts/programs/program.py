"""The base classes of the programs in Scripts/programs: how a program starts, converses, is stalled, is loaded, and exits."""
import dataclasses
import os
import pathlib
import re
import subprocess
import threading
import time
import typing

from harness import Failure, run_client, wait_until

APPS = pathlib.Path(__file__).resolve().parent / "apps"
# The virtual environment with packages from PyPI.
PYTHON = os.environ.get("PROGRAMS_PYTHON", "/usr/bin/python3")
# How long a handler blocks: four thresholds.
BLOCK_SECONDS = 0.6
# The names of the C library's innermost functions for opening and reading a file.
FILE_CALL = r"(__)?(libc_)?(GI_)?_*(open|openat|read|fopen|_IO_file_open|_IO_new_file_fopen)(64)?(_nocancel)?(_2)?"
SLEEP_CALL = r"(__)?(GI_)?_*(clock_nanosleep|nanosleep|usleep|sleep)(_time64|@.*)?"
CHILD_CALL = r"(__)?(GI_)?_*(wait4|waitpid|waitid|wait)"


class LeftOut(Exception):
    """A program is not available or cannot run here; the message gives the reason."""


@dataclasses.dataclass
class Stall:
    """A way to block a loop from outside.

    - block: takes the session, and returns when the loop is free again. If the stall differs from the time of the call, returns its start
      and end as (asked, ended) by the monotonic clock.
    - cause: the causes that the record may have.
    - frame: the symbol of a frame that the record must contain; None if the program has no symbols there.
    - culprit: the expected culprit; None if the program's own functions have no names. Then the culprit must only not be a function that waits.
    - loop: the loop's name in the record."""

    name: str
    block: typing.Callable
    cause: tuple
    frame: typing.Optional[str] = None
    culprit: typing.Optional[str] = None
    loop: str = "main"
    # How long the request may take to reach the loop, if it passes through other programs.
    way_seconds: float = 0.0


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
    # The required commands and files, besides those that `Scripts/programs/run` installs.
    needs: tuple = ()
    # A loop that waits for the blocked loop, so that a stall of it during that time is true.
    waiting_loop: typing.Optional[str] = None
    # Why no stall can be caused from outside, for the table.
    no_stalls = ""
    # Whether `hang` is implemented.
    can_hang = False

    def __init__(self, home, port):
        self.home, self.port = home, port

    @classmethod
    def prepare(cls, folder):
        """Creates the files that all starts need, in the folder that will contain their home folders. Called before the first start."""

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

    def hang(self, session, seconds):
        """Blocks the loop for this time, while clients wait. Returns when lagmond acted, in seconds since the block began; None: it did not."""
        raise NotImplementedError

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


class HTTPProgram(Program):
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


class Fifo:
    """A FIFO in place of a file: opening it blocks until `release`."""

    def __init__(self, path):
        self.path = path
        self.before = path.read_bytes() if path.is_file() else None

    def put(self):
        temporary = self.path.with_suffix(".fifo")
        os.mkfifo(temporary, 0o666)
        temporary.chmod(0o666)
        temporary.rename(self.path)

    def release(self, content=b""):
        """Writes the content to the waiting reader. Returns False if no reader waits."""
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return False
        try:
            os.write(descriptor, content)
        except BrokenPipeError:
            # The reader does not read pipes, and has closed it.
            pass
        os.close(descriptor)
        return True

    def restore(self):
        if self.before is not None:
            temporary = self.path.with_suffix(".file")
            temporary.write_bytes(self.before)
            temporary.chmod(0o644)
            temporary.rename(self.path)


class HandlersOfOurs(HTTPProgram):
    """A server whose handlers are in the folder apps: they sleep, compute, or read a pipe, depending on the request's path."""

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


def block_at_file(path, trigger, is_over):
    """Replaces a file of the program with a FIFO, triggers reading it, and releases the reader after BLOCK_SECONDS. Returns (asked, ended)."""
    fifo = Fifo(path)
    fifo.put()
    try:
        asked = time.monotonic()
        waiting = trigger()
        time.sleep(BLOCK_SECONDS)
        wait_until(f"{path.name} is opened", lambda: fifo.release(fifo.before), 5)
        ended = time.monotonic()
    finally:
        fifo.restore()
    if waiting is not None:
        waiting()
    wait_until("the answer after the stall", is_over, 10)
    return asked, ended


def blocking_stalls(make, frames=None, loop="main"):
    """The stalls of the handlers in apps/blocking.*. make(path) returns the request. A stall whose frame is "" is left out."""
    frames = {"/sleep": SLEEP_CALL, "/compute": None, "/read": FILE_CALL, "/wait": "", "/lock": "", "/child": "", "/loop": "", **(frames or {})}
    kinds = {
        "/sleep": ("sleeps", ("syscall",)),
        "/compute": ("computes", ("cpu", "runqueue")),
        "/read": ("reads a pipe", ("syscall",)),
        "/wait": ("waits for an answer", ("syscall",)),
        "/lock": ("waits for a thread", ("lock", "syscall")),
        "/child": ("waits for a child", ("syscall",)),
        "/loop": ("runs a loop of its own", ("syscall",)),
    }
    return [
        Stall(f"a handler that {does}", make(path), causes, frames[path], loop=loop)
        for path, (does, causes) in kinds.items() if frames[path] != ""
    ]


def talk_load(port, seconds, connections, request, end):
    run_client(["/usr/bin/python3", "-B", str(APPS / "talk_load.py"), str(port), str(seconds), str(connections), request, end], seconds)


def same_text(text):
    """Removes data that differs between starts (process IDs, ports, times), and lagmond's lines."""
    lines = [line for line in text.splitlines() if not line.startswith("lagmond: ")]
    return re.sub(r"0x[0-9a-f]+|[0-9]+", "N", "\n".join(lines))


def has_command(name):
    return subprocess.run(["/bin/sh", "-c", f"command -v '{name}'"], stdout=subprocess.DEVNULL).returncode == 0
