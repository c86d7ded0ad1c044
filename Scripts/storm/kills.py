"""SIGKILL at random times: to the program, to `lagmond run` above it, or to `lagmond attach` beside it."""
import contextlib
import os
import signal
import subprocess
import time

from attack import Result, lost_unseen, parsed, stalls_in, true_stalls
from harness import descendants, wait_until

STALLS = 6
# lagmond may miss stalls that ended within this time before the end of the program, in microseconds.
GRACE = 150_000


def random_wait(storm, seconds):
    time.sleep(storm.random.uniform(0, seconds))


def kill_host(storm):
    """lagmond exits like the program, has reported all stalls that ended before, and writes only complete lines."""
    result = Result()
    for _ in range(storm.tries(200, 10)):
        place = storm.place("kill-host")
        truth, lines = place / "truth", place / "lines"
        with storm.start(storm.watched(lines, storm.host("sleep", STALLS, truth)), place) as process:
            wait_until("the program starts", lambda: descendants(process.pid) or process.poll() is not None)
            random_wait(storm, 0.6)
            killed = time.clock_gettime(time.CLOCK_MONOTONIC) * 1e6
            for pid in descendants(process.pid)[:1]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            try:
                outcome = storm.wait(process, place, 15)
            except subprocess.TimeoutExpired:
                result.add(1, "lagmond hangs after its program was killed")
                continue
        found, torn = parsed(lines.read_bytes() if lines.exists() else b"")
        harm = "" if outcome.status in (-signal.SIGKILL, 128 + signal.SIGKILL, 0) else f"lagmond exits with {outcome.status}: {outcome.messages[-200:]}"
        over = [stall for stall in true_stalls(truth) if sum(stall) < killed - GRACE]
        result.add(1, harm or outcome.crash() or (f"{torn} torn lines" if torn else ""), lost_unseen(over, stalls_in(found), outcome))
    return result


def kill_wrapper(storm):
    """The program runs until it exits normally, and all lines except the last one are complete."""
    result = Result()
    bare = storm.bare(storm.host("sleep", STALLS))
    for _ in range(storm.tries(200, 10)):
        place = storm.place("kill-wrapper")
        lines = place / "lines"
        with storm.start(storm.watched(lines, storm.host("sleep", STALLS)), place) as process:
            wait_until("the program starts", lambda: any(name_of(pid) == "subject" for pid in descendants(process.pid)))
            random_wait(storm, 0.5)
            below = descendants(process.pid)
            process.kill()
            process.wait()
            try:
                wait_until("the program ends", lambda: not any(name_of(pid) == "subject" for pid in below), 15)
                output = (place / "out").read_text()
                harm = "" if output == bare.output else f"the program printed {output!r}, bare {bare.output!r}"
            except Exception as failure:
                harm = f"without lagmond: {failure}"
        _, torn = parsed(lines.read_bytes() if lines.exists() else b"", allow_torn_end=True)
        result.add(1, harm or (f"{torn} torn lines" if torn else ""))
    return result


def name_of(pid):
    """The process's name; empty if it has exited or is a zombie."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            text = file.read()
    except OSError:
        return ""
    name, _, rest = text[text.index("(") + 1 :].rpartition(")")
    return "" if rest.split()[0] == "Z" else name


def kill_attacher(storm):
    """No thread stays stopped or traced, and the program exits as usual. It computes, so that lagmond reads its registers with ptrace."""
    result = Result()
    bare = storm.bare(storm.host("compute", STALLS))
    for _ in range(storm.tries(200, 10)):
        place, beside = storm.place("kill-attached"), storm.place("attacher")
        with storm.start(storm.host("compute", STALLS), place) as host:
            attach = [storm.lagmond, "attach", "--config", str(storm.config), "--output", str(beside / "lines"), "--pid", str(host.pid)]
            with storm.start(attach, beside) as process:
                random_wait(storm, 0.5)
                process.kill()
                process.wait()
            try:
                outcome = storm.wait(host, place, 15)
                harm = "" if (outcome.status, outcome.output) == (0, bare.output) else f"the program exits with {outcome.status} {outcome.output!r}"
            except subprocess.TimeoutExpired:
                harm = "the program hangs after lagmond beside it was killed"
        _, torn = parsed((beside / "lines").read_bytes() if (beside / "lines").exists() else b"", allow_torn_end=True)
        result.add(1, harm or (f"{torn} torn lines" if torn else ""))
    return result


ATTACKS = {"kill-host": kill_host, "kill-wrapper": kill_wrapper, "kill-attacher": kill_attacher}
