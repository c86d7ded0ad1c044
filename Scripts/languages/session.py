"""Runs one program under lagmond, and compares its stalls with the records."""
import dataclasses
import json
import os
import re
import signal
import subprocess
import time

# Rest before the first stall, until lagmond has recognised the loop.
LEAD_SECONDS = {"run": 0.8, "attach": 3.0}
# The time limit in addition to the stalls.
SPARE_SECONDS = 90
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


def spinners(count):
    return [subprocess.Popen(["/usr/bin/python3", "-c", "import os\nwhile os.getppid() > 1: sum(range(10000))"]) for _ in range(count)]


def run_program(lagmond, language, interpreter, scenario, rounds, way, folder):
    """Returns the true times in nanoseconds, the records, and lagmond's messages."""
    truth, output = folder / "truth", folder / "stalls.jsonl"
    for path in (truth, output):
        path.unlink(missing_ok=True)
    command = interpreter.command + [scenario.name, str(rounds), str(truth), str(LEAD_SECONDS[way])]
    options = ["--output", str(output)]
    if way == "run":
        if os.environ.get("PERF_MAP"):
            options.append("--perf-map")
        done = subprocess.run(
            [lagmond, "run", *options, "--", *command], cwd=folder, capture_output=True, text=True, timeout=SPARE_SECONDS + rounds * 5
        )
        said = done.stderr
    else:
        program = subprocess.Popen(command, cwd=folder)
        try:
            attach = [lagmond, "attach", "--pid", str(program.pid), *language.attach_options(program.pid), *options]
            watch = subprocess.Popen(attach, stderr=subprocess.PIPE, text=True)
            program.wait(timeout=SPARE_SECONDS + rounds * 5)
            _, said = watch.communicate(timeout=SPARE_SECONDS)
        finally:
            for process in (program, watch):
                if process.poll() is None:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
    # If a program was ended during a stall, the last line contains only the start.
    stalls = [tuple(map(int, line.split())) for line in truth.read_text().splitlines() if not line.endswith(" ")] if truth.exists() else []
    records = [json.loads(line) for line in output.read_text().splitlines()] if output.exists() else []
    return stalls, [record for record in records if record.get("event") == "stall" and record.get("phase") == "end"], said


def judge(language, scenario, stalls, records, tally):
    """Compares each stall with the record that covers most of it."""
    symbols = language.symbols(scenario)
    for begin, end in stalls:
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
        judge_owner(language, scenario, record, tally)
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


def judge_owner(language, scenario, record, tally):
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


def measure(lagmond, language, interpreter, scenario, rounds, way, busy, folder, tally):
    load = spinners(2 * (os.cpu_count() or 1)) if busy else []
    try:
        stalls, records, said = run_program(lagmond, language, interpreter, scenario, rounds, way, folder)
    finally:
        for process in load:
            process.kill()
        for process in load:
            process.wait()
    if len(stalls) < rounds:
        tally.details.append(f"{len(stalls)} of {rounds} stalls occurred: {said.strip()[-300:]}")
    judge(language, scenario, stalls, records, tally)
    stops = STOPS.search(said)
    if stops:
        tally.stops[busy].append((int(stops.group(1)), int(stops.group(3))))
    # Lets the machine become quiet again.
    time.sleep(0.1)
