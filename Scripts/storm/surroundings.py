"""Attacks by the surrounding system: reused process IDs, differing clocks, another process's ptrace."""
import ctypes
import os
import pathlib
import subprocess
import time

from attack import LeftOut, Result, difference, lost_unseen, parsed, stalls_in, true_stalls
from harness import wait_until

LAST_PID = pathlib.Path("/proc/sys/kernel/ns_last_pid")


def attach_command(storm, pid, lines):
    return [storm.lagmond, "attach", "--config", str(storm.config), "--output", str(lines), "--pid", str(pid)]


def native(path):
    lines, torn = parsed(path.read_bytes() if path.exists() else b"")
    return stalls_in(lines), torn


def reused_pid(storm):
    """The process to which lagmond is attached exits, and a new process gets its process ID: lagmond must ignore the new process."""
    result = Result()
    bare = storm.bare(storm.host("sleep", 6))
    for _ in range(storm.tries(50, 5)):
        first, beside, second = storm.place("first"), storm.place("attacher"), storm.place("second")
        lines = beside / "lines"
        with storm.start(storm.host("sleep", 1000), first) as host, storm.start(attach_command(storm, host.pid, lines), beside) as process:
            wait_until("a record", lambda: lines.exists() and lines.stat().st_size > 0 or process.poll() is not None)
            host.kill()
            host.wait()
            for _ in range(50):
                try:
                    LAST_PID.write_text(str(host.pid - 1))
                except OSError as error:
                    raise LeftOut(f"cannot choose the next process ID: {error.strerror}") from None
                born = time.clock_gettime(time.CLOCK_MONOTONIC) * 1e6
                with storm.start(storm.host("sleep", 6), second) as stranger:
                    if stranger.pid != host.pid:
                        continue
                    outcome = storm.wait(stranger, second, 20)
                    break
            else:
                raise LeftOut("the kernel did not reuse the process ID")
            try:
                ended = storm.wait(process, beside, 10)
                harm = difference(bare, outcome) or ended.crash()
            except subprocess.TimeoutExpired:
                harm = "lagmond attach does not exit after its process"
        found, torn = native(lines)
        if any(begin >= born for begin, _ in found.values()):
            harm = harm or "lagmond reported a stall of the new process"
        result.add(1, harm or (f"{torn} torn lines" if torn else ""))
    return result


DAY_US = 86_400_000_000


def time_namespace(storm):
    """In a time namespace, clocks are a day ahead: first for lagmond and its program, then only for a program to which lagmond is attached from outside."""
    ahead = ["unshare", "--time", "--monotonic", "86400", "--boottime", "86400", "--fork"]
    if subprocess.run([*ahead, "true"], capture_output=True).returncode != 0:
        raise LeftOut("no time namespaces")
    result = Result()
    stalls = storm.tries(40, 10)
    bare = storm.bare([*ahead, *storm.host("sleep", stalls)])
    place = storm.place("inside")
    truth, lines = place / "truth", place / "lines"
    outcome = storm.run([*ahead, *storm.watched(lines, storm.host("sleep", stalls, truth))], place)
    found, torn = native(lines)
    result.add(stalls, difference(bare, outcome) or (f"{torn} torn lines" if torn else ""), lost_unseen(true_stalls(truth), found, outcome))

    place, beside = storm.place("ahead"), storm.place("outside")
    truth, lines = place / "truth", beside / "lines"
    with storm.start([*ahead, *storm.host("sleep", stalls, truth, idle_ms=100)], place) as shell:
        pid = wait_until("the program starts", lambda: children(shell.pid))[0]
        with storm.start(attach_command(storm, pid, lines), beside) as process:
            outcome = storm.wait(shell, place)
            ended = storm.wait(process, beside, 20)
    found, torn = native(lines)
    longest = max((end - begin for begin, end in found.values()), default=0)
    harm = difference(storm.bare([*ahead, *storm.host("sleep", stalls, idle_ms=100)]), outcome) or ended.crash()
    if longest > 10 * storm.STALL_MS * 1000:
        harm = harm or f"a record of {longest / 1000:.0f} ms, the longest stall has {storm.STALL_MS} ms"
    # The program's clock differs, so only the number of stalls is compared. lagmond may miss the first stalls, because it has yet to recognise the loop.
    lost = max(0, stalls // 2 - len(found) - ended.without_line())
    result.add(1, harm or (f"{torn} torn lines" if torn else ""), lost, f"from outside {len(found)} of {stalls} stalls in records")
    return result


def children(pid):
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def compared(stalls, bare, outcome, ended, truth, lines, dismissed=1):
    """The result for a program that `attach` watched from its start: it must behave like the bare program, and no stall may be lost after the first record,
    because lagmond needs the first iterations to recognise the loop."""
    result = Result()
    found, torn = native(lines)
    known = [stall for stall in true_stalls(truth) if found and stall[0] > min(begin for begin, _ in found.values())]
    harm = difference(bare, outcome) or ended.crash() or (f"{torn} torn lines" if torn else "")
    result.add(stalls, harm, lost_unseen(known, found, ended, dismissed), f"{len(found)} of {stalls} stalls in records")
    return result


def short_stalls(storm):
    """Stalls that last only a few samples of `attach`, at any phase of its sampling."""
    stalls = storm.tries(600, 60)
    bare = storm.bare(storm.host("compute", stalls))
    place, beside = storm.place("sampled"), storm.place("attacher")
    truth, lines = place / "truth", beside / "lines"
    with storm.start(storm.host("compute", stalls, truth), place) as host, storm.start(attach_command(storm, host.pid, lines), beside) as process:
        outcome = storm.wait(host, place, 120)
        ended = storm.wait(process, beside, 20)
    return compared(stalls, bare, outcome, ended, truth, lines)


PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def foreign_tracer(storm):
    """Another process traces the program during the middle third of the stalls. The program computes, so that lagmond also needs ptrace to read its
    registers."""
    library = ctypes.CDLL(None, use_errno=True)
    library.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    stalls = storm.tries(90, 18)
    bare = storm.bare(storm.host("compute", stalls))
    place, beside = storm.place("traced"), storm.place("attacher")
    truth, lines = place / "truth", beside / "lines"
    with storm.start(storm.host("compute", stalls, truth), place) as host, storm.start(attach_command(storm, host.pid, lines), beside) as process:
        wait_until("stalls", lambda: len(true_stalls(truth)) >= stalls // 3, 60)
        # lagmond may hold the thread for some microseconds.
        for _ in range(100):
            if library.ptrace(PTRACE_SEIZE, host.pid, None, None) == 0:
                break
            time.sleep(0.01)
        else:
            raise LeftOut(f"ptrace: {os.strerror(ctypes.get_errno())}")
        wait_until("stalls", lambda: len(true_stalls(truth)) >= stalls * 2 // 3, 60)
        # Interrupts the program early in a stall: during a wait, the interrupt would end the wait early, which lagmond did not cause.
        for state in "SR":
            wait_until(f"state {state}", lambda: state_of(host.pid) == state)
        library.ptrace(PTRACE_INTERRUPT, host.pid, None, None)
        os.waitpid(host.pid, 0x40000000)
        library.ptrace(PTRACE_DETACH, host.pid, None, None)
        outcome = storm.wait(host, place)
        ended = storm.wait(process, beside, 20)
    # lagmond dismisses stalls during which another tracer stopped the program.
    return compared(stalls, bare, outcome, ended, truth, lines, dismissed=stalls)



ATTACKS = {"pid-reuse": reused_pid, "time-namespace": time_namespace, "short-stalls": short_stalls, "foreign-tracer": foreign_tracer}
