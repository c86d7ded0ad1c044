"""Runs stalls in several languages under lagmond; for Scripts/languages/run: main.py LAGMOND [LANGUAGE…]."""
import importlib
import os
import pathlib
import shutil
import sys
import tempfile

import compare
from language import HERE
from session import Run, Tally, perform, share

# The required share of all stalls; absent results count as failures.
LEAST_FUNCTION, LEAST_LINE = 0.98, 0.95
# A lock holder that gets no processor cannot be stopped, and has no frames; this happens beside busy processes.
LEAST_OWNER = 0.75


def private_copy(lagmond, folder):
    """Copies lagmond and its library to a folder that no build changes during the run."""
    binaries = folder / "bin"
    binaries.mkdir()
    for name in (lagmond, lagmond.with_name("liblagmonitor-preload.so")):
        if name.exists():
            shutil.copy(name, binaries)
    return str(binaries / lagmond.name)


def percentile(stops):
    """The 99th percentile of all stops, computed from the percentiles of the runs."""
    left = sum(count for count, _ in stops) * 0.99
    for count, value in sorted(stops, key=lambda stop: stop[1]):
        left -= count
        if left <= 0:
            return str(value)
    return "-"


def report(title, tallies, has_lines):
    made = sum(tally.made for tally in tallies)
    found = sum(tally.found for tally in tallies)
    function, line = sum(tally.function for tally in tallies), sum(tally.line for tally in tallies)
    fingerprints = max((len(tally.fingerprints) for tally in tallies), default=0)
    locked, owner = sum(tally.locked for tally in tallies), sum(tally.owner for tally in tallies)
    owners = f"owner={share(owner, locked)} " if locked else ""
    wrong = sum(tally.wrong for tally in tallies)
    quiet, busy = ([stop for tally in tallies for stop in tally.stops[is_busy]] for is_busy in (False, True))
    print(
        f"language {title} stalls={found}/{made} function={share(function, found)} line={share(line, found)} fingerprints={fingerprints} {owners}"
        f"stop_us_p99={percentile(quiet)} busy_stop_us_p99={percentile(busy)} wrong={wrong}",
        flush=True,
    )
    has_enough_lines = line >= LEAST_LINE * found or not has_lines
    return found == made and function >= LEAST_FUNCTION * found and has_enough_lines and fingerprints <= 1 and wrong == 0 and owner >= LEAST_OWNER * locked


def run(lagmond, language, folder):
    compares = bool(os.environ.get("COMPARE"))
    if compares and language.name not in compare.LANGUAGES:
        print(f"compare {language.name} left out: no profilers for it", flush=True)
        return True
    rounds = int(os.environ.get("ROUNDS", "5"))
    chosen = os.environ.get("SCENARIOS", "").split()
    scenarios = [scenario for scenario in language.scenarios() if not chosen or scenario.name in chosen]
    shows_all = os.environ.get("DETAILS") == "all"
    only = os.environ.get("INTERPRETERS", "").split()
    kind = "-perf-map" if os.environ.get("PERF_MAP") else ""
    is_good, is_there = True, False
    for interpreter in language.interpreters(folder):
        is_there = True
        if only and not any(interpreter.name.startswith(name) for name in only):
            continue
        if compares:
            is_good &= compare.compare(lagmond, language, interpreter, scenarios, rounds, folder)
            continue
        tallies = {False: [], True: [], "attach": []}
        runs, groups = [], []
        for scenario in scenarios:
            tally = Tally()
            runs += [Run(scenario, language.way, is_busy, tally) for is_busy in (False, True)]
            tallies[scenario.is_unseen].append(tally)
            attached = Tally() if scenario.name in language.attached else None
            if attached:
                runs.append(Run(scenario, "attach", False, attached))
                tallies["attach"].append(attached)
            groups.append((scenario, tally, attached))
        perform(runs, lagmond, language, interpreter, rounds, folder)
        for scenario, tally, attached in groups:
            if attached:
                # A stall has the same fingerprint under `run` and `attach`.
                attached.fingerprints |= tally.fingerprints
            for way, one in (("", tally), ("attach ", attached)):
                if one and (shows_all or not scenario.is_unseen):
                    text = f"{one.found}/{one.made} function {one.function} line {one.line} fingerprints {len(one.fingerprints)}"
                    print(f"  {interpreter.name} {way}{scenario.name}: {text} wrong {one.wrong} {sorted(set(one.details))}", file=sys.stderr)
        for key, title in ((False, "set=developed"), (True, "set=unseen"), ("attach", "way=attach")):
            if tallies[key]:
                is_good &= report(f"{interpreter.name}{kind} {title}", tallies[key], language.has_lines)
    if not is_there:
        print(f"language {language.name} left out: no interpreter found", flush=True)
    return is_good


def main():
    lagmond = pathlib.Path(sys.argv[1]).resolve()
    names = sys.argv[2:] or sorted(path.stem.removeprefix("language_") for path in HERE.glob("language_*.py"))
    is_good = True
    with tempfile.TemporaryDirectory(prefix="lag-languages-") as name:
        folder = pathlib.Path(name)
        program = private_copy(lagmond, folder)
        for name in names:
            is_good &= run(program, importlib.import_module(f"language_{name}").LANGUAGE, folder)
    sys.exit(0 if is_good else 1)


main()
