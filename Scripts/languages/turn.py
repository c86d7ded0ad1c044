"""Lets programs that run at the same time start, and stall, one after another. lagmond may still write the record of one while the next one stalls."""
import contextlib
import os
import time

POLL_SECONDS = 0.005
# A program that has not started by then does not keep the others waiting.
MOST_SECONDS = 10


class Turn:
    """A file that exists while a program starts or stalls. The programs know its path as TURN, and create it before each stall: as a hard link to their own
    file of true times."""

    def __init__(self, path):
        self.path = path

    @contextlib.contextmanager
    def starting(self, truth, limit):
        """Holds the turn until a program, started inside, has created its file of true times. `limit`: how many seconds to wait for the turn."""
        own = truth.with_name("starting")
        own.touch()
        end = time.monotonic() + limit
        while True:
            try:
                os.link(own, self.path)
                break
            except FileExistsError:
                if time.monotonic() > end:
                    raise
                time.sleep(POLL_SECONDS)
        try:
            yield
            end = time.monotonic() + MOST_SECONDS
            while not truth.exists() and time.monotonic() < end:
                time.sleep(POLL_SECONDS)
        finally:
            self.give_back(own)

    def give_back(self, own):
        """Does nothing if another program has the turn. Also called for a program that has ended: perhaps during a stall."""
        with contextlib.suppress(FileNotFoundError):
            if self.path.samefile(own):
                self.path.unlink()
