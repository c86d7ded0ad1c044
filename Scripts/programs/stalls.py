"""How programs are stalled: the stall and what is expected of its record, pipes in place of files, and the handlers in apps/."""
import dataclasses
import os
import time
import typing

from harness import wait_until

# How long a handler blocks: four thresholds.
BLOCK_SECONDS = 0.6
# The names of the C library's innermost functions for opening and reading a file.
FILE_CALL = r"(__)?(libc_)?(GI_)?_*(open|openat|read|fopen|_IO_file_open|_IO_new_file_fopen)(64)?(_nocancel)?(_2)?"
SLEEP_CALL = r"(__)?(GI_)?_*(clock_nanosleep|nanosleep|usleep|sleep)(_time64|@.*)?"
# The name of the stall of a program whose file is replaced.
REREAD = "a file that is a pipe, reread"
CHILD_CALL = r"(__)?(GI_)?_*(wait4|waitpid|waitid|wait)"

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


@dataclasses.dataclass
class Miss:
    """A stall that is known not to be found. A run reports each one that is found nevertheless.

    - why: the reason.
    - only_first: whether only its first occurrence in a run is missed."""

    why: str
    only_first: bool = False


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


def blocking_stalls(make, frames=None, culprit=None, culprits=None, loop="main"):
    """The stalls of the handlers in apps/blocking.*. make(path) returns the request. A stall whose frame is "" is left out. culprits: by path."""
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
        Stall(f"a handler that {does}", make(path), causes, frames[path], (culprits or {}).get(path, culprit), loop=loop)
        for path, (does, causes) in kinds.items() if frames[path] != ""
    ]
