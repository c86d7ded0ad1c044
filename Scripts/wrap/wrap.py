"""Stalls and loads programs under `lagmond run`, and checks the records; for Scripts/wrap/run: wrap.py LAGMOND [PROGRAM…]. With WAY=attach
lagmond attaches to the programs instead, when they listen.

For each program: causes stalls, all of which must be found in time and named correctly; loads it, during which there must be no record; and measures
its throughput relative to the bare program's. Prints details on stderr, and one line per program on stdout."""
import math
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import threading
import time

from harness import Failure, Watch, say, wait_until
from programs import PROGRAMS
from records import false_records
from throughput import compare

QUICK = os.environ.get("QUICK") == "1"
REPEATS = 2 if QUICK else 5
LOAD_SECONDS = int(os.environ.get("LOAD_SECONDS", 10 if QUICK else 60))
# The number of pairs of processes; if the result is undecided, the measurement continues to the next number.
PAIRS = (8, 24) if QUICK else (16, 48, 96)
# The threshold plus one interval, and the scheduling delay of a loaded machine.
IN_TIME_MS, SCHEDULING_MS = 200, 50
RATIO_AT_LEAST = 0.99
WAY = os.environ.get("WAY", "run")


def check(stall, lines, asked, seen_at):
    """Returns the errors in the record of one stall, and when the stall was found, in milliseconds after its start."""
    begins = [line for line in lines if line["phase"] == "begin"]
    ends = [line for line in lines if line["phase"] == "end"]
    if len(begins) != 1 or len(ends) != 1:
        return [f"{len(begins)} lines at detection and {len(ends)} at the end"], math.inf
    begin, end = begins[0], ends[0]
    wrong = []
    # Measured by the record, and by the clock of this process, which requested the stall and watched the file.
    found_ms = max(begin["duration_ms"], (seen_at - asked) * 1000)
    if found_ms > IN_TIME_MS + SCHEDULING_MS:
        wrong.append(f"late: {begin['duration_ms']} ms by the record, in the file {(seen_at - asked) * 1000:.1f} ms after the request")
    if begin["mono_us"] / 1e6 < asked - 0.005:
        wrong.append(f"begins {asked - begin['mono_us'] / 1e6:.3f} s before the request")
    for line in (begin, end):
        symbols = [frame.get("symbol") or "?" for frame in line["frames"]]
        if not any(re.fullmatch(stall.native, symbol) for symbol in symbols):
            wrong.append(f"no {stall.native} in {line['phase']}: {' < '.join(symbols) or line.get('capture_error')}")
        # If a loop that computes waits for a processor longer than it runs, the cause runqueue is correct.
        starved = line["cause"] == "runqueue" and line.get("run_delay_ms", 0) > line.get("cpu_ms", 0)
        if line["cause"] != stall.cause and not (starved and stall.cause == "cpu"):
            wrong.append(f"cause {line['cause']} in {line['phase']}, not {stall.cause}")
    return wrong, found_ms


def inject(server, stall, known):
    """Blocks the loop once. Returns the errors, the time when the stall was found, and the ids of all stalls that were reported in that time."""
    result = {}

    asked = ended = time.monotonic()

    def block():
        try:
            later = stall.block(server)
            result["asked"] = later if isinstance(later, float) else asked
        except Exception as error:
            result["error"] = error

    def fresh():
        return [line for line in server.records() if line["id"] not in known]

    blocker = threading.Thread(target=block)
    blocker.start()
    seen_at = None
    # Watches the file while the loop is blocked, and shortly after, for a late line.
    while blocker.is_alive() or (seen_at is None and time.monotonic() < ended + 1):
        if seen_at is None and fresh():
            seen_at = time.monotonic()
        if blocker.is_alive():
            ended = time.monotonic()
        time.sleep(0.002)
    if "error" in result:
        raise Failure(f"{server.name}, {stall.name}: {result['error']}")
    if seen_at is None:
        return ["no record"], math.inf, set()
    try:
        wait_until("end", lambda: any(line["phase"] == "end" for line in fresh()), 3)
    except Failure:
        pass
    # Long enough for an erroneous second record to appear.
    time.sleep(0.3)
    lines = fresh()
    first = lines[0]["id"]
    wrong, found_ms = check(stall, [line for line in lines if line["id"] == first], result["asked"], seen_at)
    return wrong, found_ms, {line["id"] for line in lines}


def stalls(program, watch):
    """Returns the number of stalls, of correctly found ones, and of records without a stall."""
    made = found = false = 0
    worst_ms = 0.0
    with program.server(watch) as server:
        for _ in range(50):
            program.greet(server)
        program.prepare(server)
        time.sleep(1.5)
        false += false_records(server, set(), "before the stalls")
        known = {line["id"] for line in server.records()}
        for stall in program.stalls() * REPEATS:
            wrong, found_ms, ids = inject(server, stall, known)
            known |= ids
            made += 1
            found += not wrong
            false += max(0, len(ids) - 1)
            if len(ids) > 1:
                say(f"  {program.name}: {stall.name}: {len(ids)} stalls instead of one")
            for problem in wrong:
                say(f"  {program.name}: {stall.name}: {problem}")
            if math.isfinite(found_ms):
                worst_ms = max(worst_ms, found_ms)
    say(f"  {program.name}: {found} of {made} stalls as expected; the latest found {worst_ms:.1f} ms after its start (at most {IN_TIME_MS})")
    return made, found, false


def quiet(program, watch):
    with program.server(watch) as server:
        program.load(server, LOAD_SECONDS)
        false = false_records(server, set(), "under load")
    say(f"  {program.name}: {false} records in {LOAD_SECONDS} s of load")
    return false


def main():
    lagmond = str(pathlib.Path(sys.argv[1]).resolve())
    names = sys.argv[2:] or list(PROGRAMS)
    unknown = [name for name in names if name not in PROGRAMS]
    if unknown:
        sys.exit(f"wrap: unknown program {', '.join(unknown)}; allowed: {', '.join(PROGRAMS)}")
    if WAY not in Watch.WAYS:
        sys.exit(f"wrap: WAY={WAY}; allowed: {', '.join(Watch.WAYS)}")
    watch = Watch(lagmond, WAY)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("wrap: ended by a signal"))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lagmonitor-wrap."))
    failed, undecided = [], []
    try:
        for name in names:
            program = PROGRAMS[name](folder)
            made, found, false = stalls(program, watch)
            false += quiet(program, watch)
            ratio, decided, low, high, false_in_pairs = compare(
                program, watch, PAIRS, RATIO_AT_LEAST, lambda server: false_records(server, set(), "in the comparison")
            )
            false += false_in_pairs
            print(f"{'wrap' if WAY == 'run' else WAY} {name} stalls={made} found={found} false={false} throughput_ratio={ratio:.4f}", flush=True)
            if found < made:
                failed.append(f"{name}: {made - found} of {made} stalls not found correctly")
            if false:
                failed.append(f"{name}: {false} records without a stall")
            if decided == "missed":
                failed.append(f"{name}: throughput ratio {ratio:.4f}, at most {high:.4f}; required: {RATIO_AT_LEAST}")
            elif decided == "undecided":
                undecided.append(
                    f"{name}: throughput ratio {ratio:.4f}, interval {low:.4f} to {high:.4f}: it is undecided whether it reaches {RATIO_AT_LEAST}; "
                    f"repeat the measurement on an idle machine"
                )
    except Failure as failure:
        failed.append(str(failure))
    finally:
        if os.environ.get("KEEP") == "1":
            say(f"  records and logs: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    for text in failed + undecided:
        say(f"wrap: {text}")
    # An inconclusive result does not pass.
    sys.exit(1 if failed else 2 if undecided else 0)


main()
