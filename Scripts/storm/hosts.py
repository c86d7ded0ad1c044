"""Attacks from within: programs that make watching hard. Each runs bare and watched; both runs must behave the same."""
import contextlib
import os
import pathlib
import time

from attack import LeftOut, Result, difference, lost_unseen, parsed, stalls_in, true_stalls
from harness import say


def run_hosted(storm, kind, stalls, before=None):
    result = Result()
    bare = storm.bare(storm.host(kind, stalls), before)
    place = storm.place(kind)
    truth, lines = place / "truth", place / "lines"
    outcome = storm.run(storm.watched(lines, storm.host(kind, stalls, truth)), place, before)
    found, torn = parsed(lines.read_bytes() if lines.exists() else b"")
    harm = difference(bare, outcome) or (f"{torn} torn lines" if torn else "")
    result.add(stalls, harm, lost_unseen(true_stalls(truth), stalls_in(found), outcome))
    return result


def hosted(kind, full, quick):
    return lambda storm: run_hosted(storm, kind, storm.tries(full, quick))


def limited_group(storm):
    """Runs lagmond and the program in a control group limited to 256 MB, of which the program uses nine tenths."""
    root = pathlib.Path("/sys/fs/cgroup")
    try:
        # With version 1 this folder is a tmpfs: a file there would be created, but limit nothing.
        if "memory" not in (root / "cgroup.controllers").read_text().split():
            raise LeftOut("the control groups of version 2 have no memory limit")
    except FileNotFoundError:
        raise LeftOut("control groups have version 1, or are missing") from None
    group = root / f"storm-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        raise LeftOut(f"cannot create a control group: {error.strerror}") from None
    try:
        limit = group / "memory.max"
        if not limit.exists():
            raise LeftOut("no memory limit in groups below the root control group")
        try:
            limit.write_text(str(256 << 20))
        except OSError as error:
            raise LeftOut(f"cannot limit the memory: {error.strerror}") from None
        return run_hosted(storm, "limit-memory-group", storm.tries(60, 10), lambda: (group / "cgroup.procs").write_text(str(os.getpid())))
    finally:
        # The last process may still be exiting.
        for _ in range(50):
            with contextlib.suppress(OSError):
                group.rmdir()
            if not group.exists():
                break
            time.sleep(0.1)
        else:
            say(f"  limit-memory-group: could not remove {group}")


ATTACKS = {
    "allocator": hosted("allocator", 400, 25),
    "loader": hosted("loader", 400, 25),
    "exceptions": hosted("exceptions", 400, 25),
    "fork": hosted("fork", 400, 25),
    "threads": hosted("threads", 400, 25),
    "profiler": hosted("profiler", 400, 25),
    "blocked-signals": hosted("blocked-signals", 200, 20),
    "sigaltstack": hosted("sigaltstack", 200, 20),
    "limit-files": hosted("limit-files", 100, 20),
    "limit-address-space": hosted("limit-address-space", 100, 20),
    "limit-processes": hosted("limit-processes", 100, 20),
    "limit-file-size": hosted("limit-file-size", 100, 20),
    "limit-memory-group": limited_group,
    "userfaultfd": hosted("userfaultfd", 60, 15),
    "userfaultfd-running": hosted("userfaultfd-running", 60, 15),
    "memory-locked": hosted("memory-locked", 100, 20),
    "deep-recursion": hosted("deep-recursion", 100, 20),
}
