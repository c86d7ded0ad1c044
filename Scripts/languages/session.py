"""Runs one program under lagmond, and compares its stalls with the records."""
import concurrent.futures
import contextlib
import dataclasses
import json
import os
import re
import signal
import subprocess

from turn import Turn

# Rest before the first stall, until lagmond has recognised the loop.
LEAD_SECONDS = {"run": 0.8, "attach": 3.0}
# Programs that run at the same time. On a quiet machine one stalls while the others wait in their loops.
QUIET_AT_ONCE, BUSY_AT_ONCE = 4, 3
# The time limit of a program: for each round, and in addition.
ROUND_LIMIT_SECONDS, SPARE_SECONDS = 15, 90
# lagmond's threshold. A fixed amount of work may take less on a fast machine: then it is not a stall.
THRESHOLD_NS = 150_000_000
STOPS = re.compile(r"stops=(\d+) .*?stop_us_p50=(\d+) stop_us_p99=(\d+)")


@dataclasses.dataclass
class Tally:
    """The counts for one scenario, under `run` or `attach`."""

    made: int = 0
    found: int = 0
    # Records that name a culprit.
    named: int = 0
    function: int = 0
    line: int = 0
    # The number of stalls that wait for an interpreter's lock, and of those whose lock holder was named.
    locked: int = 0
    owner: int = 0
    wrong: int = 0
    fingerprints: set = dataclasses.field(default_factory=set)
    # (number of stops, their 99th percentile in us), on a quiet machine and on a busy one.
    stops: dict = dataclasses.field(default_factory=lambda: {False: [], True: []})
    details: list = dataclasses.field(default_factory=list)


def share(part, whole):
    return f"{100 * part / whole:.1f}%" if whole else "-"


def run_program(lagmond, language, interpreter, scenario, rounds, way, folder, turn=None):
    """Returns the true times in nanoseconds, the records, and lagmond's messages. `turn`: shared with programs that run at the same time."""
    folder.mkdir(exist_ok=True)
    truth, output = folder / "truth", folder / "stalls.jsonl"
    for path in (truth, output):
        path.unlink(missing_ok=True)
    command = interpreter.command + [scenario.name, str(rounds), str(truth), str(LEAD_SECONDS[way])]
    options = ["--output", str(output)]
    environment = {**os.environ, **({"TURN": str(turn.path)} if turn else {})}
    limit = SPARE_SECONDS + rounds * ROUND_LIMIT_SECONDS
    processes = []
    try:
        with turn.starting(truth, limit) if turn else contextlib.nullcontext():
            if way == "run":
                if os.environ.get("PERF_MAP"):
                    options.append("--perf-map")
                command = [lagmond, "run", *options, "--", *command]
                processes.append(subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
            else:
                processes.append(subprocess.Popen(command, cwd=folder, env=environment))
                process = processes[0].pid
                attach = [lagmond, "attach", "--pid", str(process), *language.attach_options(process), *options]
                processes.append(subprocess.Popen(attach, stderr=subprocess.PIPE, text=True))
        _, said = processes[-1].communicate(timeout=limit)
        processes[0].wait(timeout=SPARE_SECONDS)
    finally:
        for process in processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                process.wait()
        if turn:
            turn.give_back(truth)
    # If a program was ended during a stall, the last line contains only the start.
    stalls = [tuple(map(int, line.split())) for line in truth.read_text().splitlines() if not line.endswith(" ")] if truth.exists() else []
    records = [json.loads(line) for line in output.read_text().splitlines()] if output.exists() else []
    return stalls, [record for record in records if record.get("event") == "stall" and record.get("phase") == "end"], said


def compare_stalls(language, scenario, stalls, records, tally):
    """Compares each stall with the record that covers most of it."""
    symbols = language.symbols(scenario)
    for begin, end in stalls:
        if end - begin < THRESHOLD_NS:
            tally.details.append("shorter than the threshold")
            continue
        tally.made += 1

        def overlap(record):
            first = record["mono_us"] * 1000
            return min(end, first + record["duration_ms"] * 1e6) - max(begin, first)

        record = max(records, key=overlap, default=None)
        if record is None or overlap(record) < (end - begin) / 2:
            tally.details.append("not found")
            continue
        tally.found += 1
        tally.fingerprints.add(record["fingerprint"])
        culprit = record.get("culprit")
        tally.named += culprit is not None
        if culprit in symbols:
            tally.function += 1
        elif culprit is not None:
            tally.wrong += 1
            tally.details.append(f"culprit {culprit} ({record['capture']} {record.get('capture_error')}, {record['cause']})")
        compare_owner(language, scenario, record, tally)
        frame = next((frame for frame in record["frames"] if frame.get("symbol") in symbols), None)
        if frame and frame.get("line") in scenario.lines and frame.get("language") == language.name:
            tally.line += 1
        elif frame:
            tally.details.append(f"line {frame.get('line')} of {frame.get('file')}")
    for record in records:
        for frame in record["frames"]:
            if language.is_wrong(frame):
                tally.wrong += 1
                tally.details.append(f"frame {frame.get('symbol')}:{frame.get('line')}")


def compare_owner(language, scenario, record, tally):
    """Checks whether the record names the lock holder's function. Without a wait for the interpreter's lock, a record must not name a holder."""
    frames = record.get("lock_owner", {}).get("frames", [])
    own = [frame["symbol"] for frame in frames if frame.get("language") == language.name and frame.get("symbol", "").endswith(f"({scenario.file})")]
    if scenario.owner is None:
        tally.wrong += record.get("lock_kind") == "gil" and "lock_owner" in record
        return
    tally.locked += 1
    if record.get("lock_kind") == "gil" and own[:1] == [f"{scenario.owner} ({scenario.file})"]:
        tally.owner += 1
        return
    tally.wrong += bool(own)
    tally.details.append(f"owner {own[:1]} of {record.get('lock_kind')} ({record['cause']})")


@dataclasses.dataclass
class Run:
    """One program's stalls, under `run` or `attach`, on a quiet machine or beside busy processes."""

    scenario: object
    way: str
    is_busy: bool
    tally: Tally
    # As `run_program` returns it.
    result: tuple = None


@contextlib.contextmanager
def spinners(count):
    load = [subprocess.Popen(["/usr/bin/python3", "-c", "import os\nwhile os.getppid() > 1: sum(range(10000))"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in load:
            process.kill()
            process.wait()


def perform(runs, lagmond, language, interpreter, rounds, folder):
    """Carries out runs, several at the same time, and counts their results. The stalls on a quiet machine take turns."""
    turn = Turn(folder / "turn")

    def perform_one(number, run):
        run.result = run_program(
            lagmond, language, interpreter, run.scenario, rounds, run.way, folder / f"{number}", None if run.is_busy else turn
        )

    for is_busy, at_once in ((False, QUIET_AT_ONCE), (True, BUSY_AT_ONCE)):
        chosen = [(number, run) for number, run in enumerate(runs) if run.is_busy == is_busy]
        with spinners(2 * (os.cpu_count() or 1) if is_busy else 0), concurrent.futures.ThreadPoolExecutor(at_once) as executor:
            list(executor.map(lambda one: perform_one(*one), chosen))
    for run in runs:
        stalls, records, said = run.result
        if len(stalls) < rounds:
            run.tally.details.append(f"{len(stalls)} of {rounds} stalls occurred: {said.strip()[-300:]}")
        compare_stalls(language, run.scenario, stalls, records, run.tally)
        stops = STOPS.search(said)
        if stops:
            run.tally.stops[run.is_busy].append((int(stops.group(1)), int(stops.group(3))))
