"""Measures the accuracy of the durations of `lagmond attach`; for `Scripts/programs/run LAGMOND durations`.

A loop (apps/timed_loop.py) that wakes 200 times a second stalls, and reports the times of its stalls. Prints a line for each kind of stall, with the
kernel's counters and context switches and without them (a seccomp filter denies perf_event_open, as in a container):

    durations perf_events=yes|no kind=sleeps|computes stalls=N found=N median_error_ms=N most_error_ms=N within_bounds=N

The error is that of duration_ms, compared with the program's own clock; within_bounds counts the records whose duration_min_ms and duration_max_ms are
correct."""
import ctypes
import json
import os
import pathlib
import platform
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

from harness import Failure, say

STALLS = 2 * int(os.environ.get("DURATIONS", "22"))
APP = pathlib.Path(__file__).with_name("apps") / "timed_loop.py"
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}


def refuse_perf_events():
    """Called in the child that becomes lagmond: makes perf_event_open fail with EPERM (seccomp(2), bpf(2))."""
    load, jump_if_equal, give = 0x20, 0x15, 0x06
    allow, refuse = 0x7FFF0000, 0x00050001
    code = [
        (load, 0, 0, 0), (jump_if_equal, 0, 1, PERF_EVENT_OPEN[platform.machine()]), (give, 0, 0, refuse), (give, 0, 0, allow),
    ]
    # Both buffers must stay alive until the call returns.
    filters = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
    program = ctypes.create_string_buffer(struct.pack("HL", len(code), ctypes.addressof(filters)))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, seccomp, mode_filter = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) != 0 or libc.prctl(seccomp, mode_filter, program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


class Truth:
    """One stall as the program measured it."""

    def __init__(self, line):
        self.kind, *times = line.split()
        self.before, self.begin, self.end, self.after = map(int, times)

    def is_of(self, record):
        middle = record["mono_us"] * 1000 + record["duration_ms"] * 500_000
        return self.begin <= middle <= self.after

    def error_ms(self, record):
        return abs(record["duration_ms"] - (self.end - self.begin) / 1e6)

    def holds(self, record):
        """Whether the bounds include the possible durations of the stall; a record's times are rounded down to a µs."""
        duration = record["duration_ms"]
        least, most = record.get("duration_min_ms", duration), record.get("duration_max_ms", duration)
        return least <= (self.after - self.before) / 1e6 and (self.end - self.begin) / 1e6 <= most + 0.001


def run(lagmond, folder, has_perf_events):
    lines = folder / f"{'with' if has_perf_events else 'without'}.jsonl"
    loop = subprocess.Popen([sys.executable, APP, str(STALLS)], stdout=subprocess.PIPE, text=True)
    settings = folder / "lagmond.json"
    settings.write_text(json.dumps({"monitor": {"limit_burst": 0, "limit_all_burst": 0}}))
    command = [lagmond, "attach", "--config", str(settings), "--pid", str(loop.pid), "--hang-after-ms", "0", "--output", str(lines)]
    watch = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=None if has_perf_events else refuse_perf_events)
    try:
        truths = [Truth(line) for line in loop.stdout]
        loop.wait()
        said = watch.communicate(timeout=20)[1]
        if watch.returncode != 0:
            raise Failure(f"lagmond attach exited with {watch.returncode}: {said}")
    finally:
        for process in (loop, watch):
            if process.poll() is None:
                process.kill()
            process.wait()
    records = [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []
    records = [record for record in records if record.get("phase") == "end"]
    is_good = True
    for kind in ("sleeps", "computes"):
        made = [truth for truth in truths if truth.kind == kind]
        pairs = [(truth, record) for truth in made for record in records if truth.is_of(record)]
        errors = [truth.error_ms(record) for truth, record in pairs] or [float("nan")]
        held = sum(truth.holds(record) for truth, record in pairs)
        print(
            f"durations perf_events={'yes' if has_perf_events else 'no'} kind={kind} stalls={len(made)} found={len(pairs)} "
            f"median_error_ms={statistics.median(errors):.2f} most_error_ms={max(errors):.2f} within_bounds={held}", flush=True,
        )
        is_good = is_good and len(pairs) == len(made) == held
    return is_good


def main():
    lagmond = pathlib.Path(sys.argv[1]).resolve()
    if platform.machine() not in PERF_EVENT_OPEN:
        sys.exit(f"durations: unknown system call number of perf_event_open on {platform.machine()}")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lagmonitor-durations."))
    try:
        good = [run(str(lagmond), folder, has_perf_events) for has_perf_events in (True, False)]
    finally:
        if os.environ.get("KEEP") == "1":
            say(f"  records: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    if not all(good):
        sys.exit("durations: not every stall was found exactly once with correct bounds")


main()
