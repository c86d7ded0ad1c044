"""Python profilers that print the stacks of a running process once. They come from PyPI, in a virtual environment (PROFILERS) that `run` creates."""
import dataclasses
import functools
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time

TOOLS = pathlib.Path(os.environ.get("PROFILERS", ".")) / "bin"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
AUSTIN_THREAD = re.compile(r"Thread \d+:(\d+)$")
AUSTIN_FRAME = re.compile(r"(.+) \((.+):(\d+)\)$")
# A profiler that takes longer is killed.
MOST_NANOSECONDS = 10_000_000_000


def py_spy_frames(text, thread):
    """(function, file, line) of each frame of a thread, the innermost first."""
    for stack in json.loads(text):
        if stack["os_thread_id"] == thread:
            return [(frame["name"], frame["filename"], frame["line"]) for frame in stack["frames"]]
    return []


def austin_frames(text, thread):
    frames, is_thread = [], False
    for line in COLOUR.sub("", text).splitlines():
        head, frame = AUSTIN_THREAD.search(line.strip()), AUSTIN_FRAME.match(line.strip())
        if head:
            is_thread = int(head.group(1)) == thread
        elif frame and is_thread:
            frames.insert(0, (frame.group(1), frame.group(2), int(frame.group(3))))
    return frames


@dataclasses.dataclass
class Profiler:
    """A profiler's command, to which the process ID is appended."""

    name: str
    command: list
    frames: object
    # Both profilers need permission to trace the process, and must be started during the stall.
    needs: str = "ptrace,at-the-time"


class Running:
    """A running profiler."""

    def __init__(self, tool, process):
        self.tool, self.begin = tool, time.monotonic_ns()
        self.output, self.errors = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([*tool.command, str(process)], stdout=self.output, stderr=self.errors, stdin=subprocess.DEVNULL)

    def is_tracer(self, thread):
        return os.path.exists(f"/proc/{self.process.pid}/task/{thread}")

    def is_over(self, now):
        if now - self.begin > MOST_NANOSECONDS:
            self.process.kill()
        return self.process.poll() is not None

    def result(self, process):
        """The frames of the process's main thread, and the reason if there are none."""
        texts = []
        for file in (self.output, self.errors):
            file.seek(0)
            texts.append(file.read())
            file.close()
        try:
            frames = self.tool.frames(texts[0], process)
        except (ValueError, KeyError, TypeError):
            frames = []
        reason = "" if frames else f"exit {self.process.returncode} {' '.join(texts[1].split())[:200]}"
        return frames, reason


@functools.cache
def profilers():
    """The profilers that are installed and run here. Prints a line for each of the others."""
    found = []
    for program, way, options, frames in (
        ("py-spy", "", ["dump", "--json", "--pid"], py_spy_frames),
        ("py-spy", "-nonblocking", ["dump", "--json", "--nonblocking", "--pid"], py_spy_frames),
        ("austin", "", ["--where"], austin_frames),
    ):
        try:
            asked = subprocess.run([TOOLS / program, "--version"], capture_output=True, text=True)
            reason = asked.stderr.strip() if asked.returncode else None
        except OSError as error:
            reason = error.strerror
        if reason is None:
            found.append(Profiler(f"{program}-{asked.stdout.split()[-1]}{way}", [str(TOOLS / program), *options], frames))
        else:
            print(f"compare {program}{way} LEFT OUT: not available from PyPI, or does not run here: {reason}", flush=True)
    return found
