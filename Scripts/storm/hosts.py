"""Attacks from within: programs that make watching hard. One is run bare and watched; both have to do the same."""
import contextlib
import os
import pathlib

from attack import LeftOut, Result, difference, lost_unseen, parsed, stalls_in, true_stalls


def run_hosted(storm, kind, stalls, before=None):
    result = Result()
    bare = storm.bare(storm.host(kind, stalls), before)
    place = storm.place(kind)
    truth, lines = place / "truth", place / "lines"
    outcome = storm.run(storm.watched(lines, storm.host(kind, stalls, truth)), place, before)
    found, torn = parsed(lines.read_bytes() if lines.exists() else b"")
    harm = difference(bare, outcome) or (f"{torn} torn lines" if torn else "")
    result.judge(stalls, harm, lost_unseen(true_stalls(truth), stalls_in(found), outcome))
    return result


def hosted(kind, full, quick):
    return lambda storm: run_hosted(storm, kind, storm.tries(full, quick))


def limited_group(storm):
    """In a control group with 64 MB, of which the program takes nine tenths; lagmond is in the same."""
    group = pathlib.Path("/sys/fs/cgroup") / f"storm-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        raise LeftOut(f"no control group: {error.strerror}") from None
    try:
        try:
            (group / "memory.max").write_text(str(256 << 20))
        except OSError as error:
            raise LeftOut(f"no limit of memory: {error.strerror}") from None
        return run_hosted(storm, "limit-memory-group", storm.tries(60, 10), lambda: (group / "cgroup.procs").write_text(str(os.getpid())))
    finally:
        with contextlib.suppress(OSError):
            group.rmdir()


def hostile_table(storm):
    """A sibling that owns the shared table writes anything into it, all the time."""
    result = Result()
    bare = storm.bare(storm.host("sleep", storm.tries(60, 15)))
    place = storm.place("table")
    truth, lines = place / "truth", place / "lines"
    script = place / "program"
    script.write_text(TABLE.format(host=" ".join(storm.host("sleep", storm.tries(60, 15), truth))))
    outcome = storm.run(storm.watched(lines, ["/usr/bin/python3", str(script)]), place)
    found, torn = parsed(lines.read_bytes() if lines.exists() else b"")
    # Whose slots are overwritten is lost to the watch, and no promise is made for it: the host and lagmond go on.
    result.judge(storm.tries(60, 15), difference(bare, outcome) or (f"{torn} torn lines" if torn else ""))
    result.notes.append(f"{len(stalls_in(found))} of {len(true_stalls(truth))} stalls in records") if not stalls_in(found) else None
    return result


TABLE = """
import mmap, os, random, subprocess, sys
path = os.environ.get("LAGMONITOR_LOOP_TABLE")
host = subprocess.Popen("{host}".split())
if path:
    file = os.open(path, os.O_RDWR)
    table = mmap.mmap(file, os.fstat(file).st_size)
    random.seed(7)
    while host.poll() is None:
        for _ in range(200):
            place = random.randrange(0, random.choice((512, len(table))) - 8) & ~3
            table[place:place + 4] = random.choice((b"\\0" * 4, b"\\xff" * 4, random.randbytes(4)))
sys.exit(host.wait())
"""

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
    "hostile-table": hostile_table,
}
