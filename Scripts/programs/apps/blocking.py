"""What a handler of the Python programs does to its loop: by the path that a client asks for."""
import os
import time

SECONDS = 0.6


def block(path):
    if path == "/sleep":
        time.sleep(SECONDS)
    elif path == "/compute":
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            pass
    elif path == "/read":
        with open(os.environ["FIFO"], "rb") as pipe:
            pipe.read()
