"""Blocks the loop of a Python program in a way that depends on the request's path."""
import asyncio
import os
import socket
import subprocess
import threading
import time

SECONDS = 0.6
# How long a hang lasts: FullWatch.HANG_SECONDS and more.
HANG_SECONDS = 8


def block(path):
    if path == "/sleep":
        time.sleep(SECONDS)
    elif path == "/hang":
        time.sleep(HANG_SECONDS)
    elif path == "/compute":
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            pass
    elif path == "/read":
        with open(os.environ["FIFO"], "rb") as pipe:
            pipe.read()
    elif path == "/wait":
        # Like a database driver that waits for a response; here none arrives.
        here, there = socket.socketpair()
        with here, there:
            here.settimeout(SECONDS)
            try:
                here.recv(1)
            except TimeoutError:
                pass
    elif path == "/lock":
        threading.Event().wait(SECONDS)
    elif path == "/child":
        subprocess.run(["sleep", str(SECONDS)], capture_output=True)
    elif path == "/loop":
        asyncio.run(asyncio.sleep(SECONDS))
