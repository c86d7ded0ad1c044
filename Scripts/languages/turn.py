"""Lets programs that run at the same time start, and stall, one after another, so that each has a quiet machine."""
import contextlib
import os
import time

POLL_SECONDS = 0.005
# A program that has not started by then does not keep the others waiting.
MOST_SECONDS = 10


class Turn:
    """A folder that exists while a program starts or stalls. The programs know its path as TURN, and create it themselves before each stall."""

    def __init__(self, path):
        self.path = path

    @contextlib.contextmanager
    def starting(self, truth):
        """Holds the turn until a program, started inside, has created its file of true times."""
        while True:
            try:
                self.path.mkdir()
                break
            except FileExistsError:
                time.sleep(POLL_SECONDS)
        try:
            yield
            end = time.monotonic() + MOST_SECONDS
            while not truth.exists() and time.monotonic() < end:
                time.sleep(POLL_SECONDS)
        finally:
            self.give_back()

    def give_back(self):
        """Also called for a program that ended without all its stalls: it may have ended during one."""
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(self.path)
