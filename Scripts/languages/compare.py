"""Compares the results of profilers and lagmond for a stall, and for how long each stops the process.

A stall lasts for more than a second. During it, each profiler is run (watch.py), one after another, in random order. A stall that ends
before all profilers have finished is left out of all figures."""
import concurrent.futures
import dataclasses
import os
import sys

from profilers import profilers
from session import LEAD_SECONDS, Tally, compare_stalls, run_program, share
from watch import Watch

LANGUAGES = ("python",)
STALL_SECONDS = "1.4"


@dataclasses.dataclass
class Score:
    """One tool's results for the stalls of one interpreter."""

    stalls: int = 0
    named: int = 0
    function: int = 0
    line: int = 0
    stops: list = dataclasses.field(default_factory=list)
    # The last reason for a missing stack; and the functions that were named instead of the true one.
    reason: str = ""
    details: list = dataclasses.field(default_factory=list)


def hold(scenario, frames, reason, score):
    """Compares the innermost function of the program's own file with the truth. A method may be named without its class."""
    frame = next(((function, line) for function, file, line in frames if os.path.basename(file) == scenario.file), None)
    if frame is None:
        score.reason = reason
        score.details.append(f"{scenario.name}: nothing ({reason})")
        return
    score.named += 1
    names = {*scenario.functions, *(function.rpartition(".")[2] for function in scenario.functions)}
    score.function += frame[0] in names
    score.line += frame[0] in names and frame[1] in scenario.lines
    if frame[0] not in names or frame[1] not in scenario.lines:
        score.details.append(f"{scenario.name}: {frame[0]}:{frame[1]}")


def observe(lagmond, language, interpreter, scenario, rounds, folder, tools, scores):
    """Runs the stalls of one scenario, and returns their Watch."""
    command = [*interpreter.command, scenario.name, str(rounds), str(folder / "truth"), str(LEAD_SECONDS["run"])]
    watch = Watch(command, folder / "truth", tools)
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        watching = executor.submit(watch.run)
        try:
            stalls, records, said = run_program(lagmond, language, interpreter, scenario, rounds, "run", folder)
        finally:
            watch.is_over.set()
        watching.result()

    def is_covered(begin, end):
        dumps = watch.stalls.get(begin, ({}, []))[0]
        return len(dumps) == len(tools) and all(over <= end for _, _, over in dumps.values())

    covered = [stall for stall in stalls if is_covered(*stall)]
    if len(covered) < rounds:
        reason = "" if stalls else said.strip()[-300:]
        print(f"  {interpreter.name} {scenario.name}: {rounds - len(covered)} of {rounds} stalls left out {reason}", file=sys.stderr)
    shown = {name: len(score.details) for name, score in scores.items()}
    for begin, _ in covered:
        dumps, stops = watch.stalls[begin]
        for name, score in scores.items():
            score.stalls += 1
            score.stops += [length for holder, length in stops if holder == name]
            if name in dumps:
                frames, reason, _ = dumps[name]
                hold(scenario, frames, reason, score)
    # What lagmond named is the culprit of its record, as in `perform`.
    tally, own = Tally(), scores["lagmond"]
    compare_stalls(language, scenario, covered, records, tally)
    own.named, own.function, own.line = own.named + tally.named, own.function + tally.function, own.line + tally.line
    own.details += [f"{scenario.name}: {detail}" for detail in tally.details]
    if os.environ.get("DETAILS") == "all" or not scenario.is_unseen:
        for name, score in scores.items():
            for detail in score.details[shown[name] :]:
                print(f"  {interpreter.name} {name} {detail}", file=sys.stderr)
    return watch


def report(interpreter, name, score, needs):
    stops = sorted(score.stops)
    p50, p99 = (f"{stops[min(len(stops) - 1, int(len(stops) * part))]:.0f}" if stops else "-" for part in (0.5, 0.99))
    held = f"{sum(stops) / score.stalls:.0f}" if score.stalls else "-"
    reason = f' error="{score.reason}"' if score.reason and not score.named else ""
    print(
        f"compare {interpreter.name} {name} stalls={score.stalls} named={share(score.named, score.stalls)} "
        f"function={share(score.function, score.stalls)} line={share(score.line, score.stalls)} "
        f"stops={len(stops)} stop_us_p50={p50} stop_us_p99={p99} held_us={held} needs={needs}{reason}",
        flush=True,
    )


def compare(lagmond, language, interpreter, scenarios, rounds, folder):
    """Compares the tools for one interpreter. Returns whether anything was compared."""
    tools = profilers()
    if not tools:
        return False
    os.environ["STALL_SECONDS"] = STALL_SECONDS
    scores = {"lagmond": Score(), **{tool.name: Score() for tool in tools}}
    watches = [observe(lagmond, language, interpreter, scenario, rounds, folder, tools, scores) for scenario in scenarios]
    for name, needs in (("lagmond", "started-by-it"), *((tool.name, tool.needs) for tool in tools)):
        report(interpreter, name, scores[name], needs)
    gap = sum(watch.gaps_us for watch in watches) / max(1, sum(watch.readings for watch in watches))
    longest = max((watch.longest_gap_us for watch in watches), default=0)
    repeated = sum(watch.repeated for watch in watches)
    missed = "" if all(watch.is_prompt for watch in watches) else "; without real-time priority: stops may be missed"
    print(f"  {interpreter.name}: repeated={repeated}, read every {gap:.0f} us (mean), {longest:.0f} us (longest){missed}", file=sys.stderr)
    return scores["lagmond"].stalls > 0
