"""What a program of Scripts/programs is: how it starts, talks, stalls, is loaded and ends."""
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
# The names that the C library gives to what a file's opening and reading end in.
FILE_CALL = r"(__)?(libc_)?(GI_)?_*(open|openat|read|fopen|_IO_file_open|_IO_new_file_fopen)(64)?(_nocancel)?(_2)?"
SLEEP_CALL = r"(__)?(GI_)?_*(clock_nanosleep|nanosleep|usleep|sleep)(_time64|@.*)?"
CHILD_CALL = r"(__)?(GI_)?_*(wait4|waitpid|waitid|wait)"


class LeftOut(Exception):
    """A program that cannot be had or run here, and why."""


@dataclasses.dataclass
class Stall:
    """A way to block a loop from outside.

    - block: takes the session, returns when the loop is free again; may return (asked, ended) by the monotonic clock, where that is
      not the time of the call.
    - cause: what the record may say, one or several.
    - frame: the symbol of a frame that must be there; none where the program has no symbols in that place.
    - culprit: the function to blame; none where the program's own functions have no names. Then only what waits must not be blamed.
    - loop: the name that the record must give the loop."""

    name: str
    block: typing.Callable
    cause: tuple
    frame: typing.Optional[str] = None
    culprit: typing.Optional[str] = None
    loop: str = "main"
    # How long the request takes to the loop, where that goes through other programs.
    way_seconds: float = 0.0


class Program:
    """One program. A class each, an object for each start of it."""

    name = ""
    # Looked at while the monitor's recognition of loops was built: its figures do not count as those of unseen ones do.
    is_known = False
    # The user of the processes; None: our own.
    user: typing.Optional[str] = None
    needs_terminal = False
    # Whether its stdout is the same each time; a screen is not, if its drawing depends on the order of events.
    output_is_same = True
    # The commands and files that must be there, besides what `Scripts/programs/run` installs.
    needs: tuple = ()
    # A loop that waits for the one that is blocked, so that a stall of it within that time is true.
    waiting_loop: typing.Optional[str] = None
    # Why it has no stalls that can be caused from outside, for the table.
    no_stalls = ""

    def __init__(self, home, port):
        self.home, self.port = home, port

    @classmethod
    def prepare(cls, folder):
        """Makes what all its starts need, before any: below the folder in which their homes will be."""

    def command(self):
        raise NotImplementedError

    def environment(self):
        return {}

    def is_ready(self, session):
        return session.accepts()

    def converse(self, session):
        """A short conversation: the text of it, which must be the same under lagmond."""
        return ""

    def stalls(self):
        return []

    def load(self, session, seconds):
        """Returns after that many seconds."""
        time.sleep(seconds)

    def end(self, session):
        session.process.terminate()

    def clean_up(self):
        """Ends what it needs beside it."""

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
    """A pipe in place of a file: opening it blocks until `release`."""

    def __init__(self, path):
        self.path = path
        self.before = path.read_bytes() if path.is_file() else None

    def put(self):
        temporary = self.path.with_suffix(".fifo")
        os.mkfifo(temporary, 0o666)
        temporary.chmod(0o666)
        temporary.rename(self.path)

    def release(self, content=b""):
        """Lets the reader that waits have the content. Returns False when no reader waits."""
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return False
        try:
            os.write(descriptor, content)
        except BrokenPipeError:
            # It wants no pipe, and has gone on.
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
    """A server whose handlers are below apps: they sleep, compute, or read a pipe, by the path."""

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
    """Replaces a file that the program reads by a pipe, makes it read it, and releases it after BLOCK_SECONDS. (asked, ended)."""
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
    """The stalls of a handler that is ours (apps/blocking.*): make(path) gives the request. One of which the frame is "" it does not have."""
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
    """Without data that differs from start to start: process IDs, ports, times; and without lagmond's lines."""
    lines = [line for line in text.splitlines() if not line.startswith("lagmond: ")]
    return re.sub(r"0x[0-9a-f]+|[0-9]+", "N", "\n".join(lines))


def has_command(name):
    return subprocess.run(["/bin/sh", "-c", f"command -v '{name}'"], stdout=subprocess.DEVNULL).returncode == 0
