"""Runs profilers during the stalls of one program, and measures which tracers stop the stalled thread.

The program reports immediately that a stall begins. Until it ends, this code reads the state of the thread from /proc continuously, about 10 us per reading.
A stop is measured from the reading before it to the reading after it, so it is at most two readings too long. It is attributed to the tracer in /proc. The
reader has real-time priority if permitted: otherwise it could lose its processor for milliseconds, and miss short stops. The profiler then has to use
the other processor, which is free while the program is stopped."""
import os
import pathlib
import random
import re
import threading
import time

from profilers import Running

# The waits before the first profiler, so that lagmond takes its first samples, and between two profilers, to separate them.
LEAD, PAUSE = 500_000_000, 100_000_000
# py-spy cannot trace the thread while lagmond traces it: a profiler without a stack is run again, as a user would do.
MOST_RUNS = 3
# Linux takes the processor for 50 ms from a real-time thread that has used it for 950 ms. The reader rests before the first profiler, so that this does
# not happen while a profiler runs.
REST_SECONDS = 0.06
POLL_SECONDS = 0.005
HELD = re.compile(rb"\nState:\tt.*\nTracerPid:\t(\d+)", re.DOTALL)


def run_before_others():
    """Gives real-time priority to this thread, but not to its children. Returns whether that is permitted."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(os.sched_get_priority_min(os.SCHED_FIFO)))
    except PermissionError:
        return False
    return True


class Watch:
    """Observes the stalls of one program, in a thread beside `run_program`."""

    def __init__(self, command, truth, tools):
        self.command, self.truth, self.tools = command, truth, tools
        self.is_over = threading.Event()
        # For each stall, by its start: {profiler: (frames, reason if there are none, end)} and [(tool that stopped the thread, microseconds)].
        self.stalls = {}
        # The number of readings that found the thread not stopped, and the times since the previous readings: their sum and maximum.
        self.readings, self.gaps_us, self.longest_gap_us = 0, 0, 0
        # Whether the reader has real-time priority; and the number of repeated profiler runs.
        self.is_prompt, self.repeated = False, 0

    def run(self):
        self.is_prompt = run_before_others()
        while not (process := self._process()) or not self.truth.exists():
            if self.is_over.wait(POLL_SECONDS):
                return
        state = f"/proc/{process}/task/{process}/status"
        with open(state, "rb", buffering=0) as status, open(self.truth, "rb", buffering=0) as truth:
            while not self.is_over.wait(POLL_SECONDS):
                line = os.pread(truth.fileno(), 1 << 16, 0).rpartition(b"\n")[2]
                if line.endswith(b" "):
                    try:
                        self._follow(process, status.fileno(), truth.fileno(), self.stalls.setdefault(int(line), ({}, [])))
                    except ProcessLookupError:
                        return

    def _process(self):
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if (entry / "cmdline").read_bytes().decode().split("\0")[:-1] == self.command:
                    return int(entry.name)
            except (OSError, UnicodeDecodeError):
                continue
        return None

    def _follow(self, process, status, truth, stall):
        dumps, stops = stall
        waiting = random.sample(self.tools, len(self.tools))
        runs = dict.fromkeys((tool.name for tool in self.tools), 0)
        size, running, last_free, holder = os.fstat(truth).st_size, None, time.monotonic_ns(), None
        due = last_free + LEAD
        while running or os.fstat(truth).st_size == size:
            state = HELD.search(os.pread(status, 4096, 0))
            now = time.monotonic_ns()
            gap_us = (now - last_free) / 1000
            if state:
                holder = holder or (running.tool.name if running and running.is_tracer(int(state.group(1))) else "lagmond")
            else:
                if holder:
                    stops.append((holder, gap_us))
                else:
                    self.readings += 1
                    self.gaps_us += gap_us
                    self.longest_gap_us = max(self.longest_gap_us, gap_us)
                last_free, holder = now, None
            if running:
                if running.is_over(now):
                    dumps[running.tool.name] = (*running.result(process), now)
                    runs[running.tool.name] += 1
                    if not dumps[running.tool.name][0] and runs[running.tool.name] < MOST_RUNS:
                        waiting.insert(0, running.tool)
                        self.repeated += 1
                    running, due = None, now + PAUSE
            elif waiting and now >= due:
                if not dumps:
                    time.sleep(REST_SECONDS)
                running = Running(waiting.pop(0), process)
                last_free = time.monotonic_ns()
