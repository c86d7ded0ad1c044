"""Measures the ratio of a program's throughput under lagmond to that of the bare program; for Scripts/wrap.

Measures many pairs of fresh processes, because two processes of the same program differ by some tenths of a percent anyway. The two are loaded in
alternating turns of a tenth of a second, and each turn is compared with the adjacent turn of the other process: longer disturbances of the machine affect
both, and short ones only one of many turns. With two processors, the program (and its lagmond) runs on one of them, and the load on the other: the
program is the bottleneck, and lagmond's time is taken from it."""
import math
import os
import pathlib
import random
import statistics
import time

from estimate import centre, centre_and_interval, verdict
from harness import say

# On a cloud machine, adjacent turns differ by 3 %, regardless of their length, so many short turns are used.
TURN_SECONDS, TURNS = 0.1, 30
# lagmond takes its last sample within one interval after its program becomes idle; it must not fall into the other process's turn.
REST_SECONDS = 0.06
# Programs with a just-in-time compiler need half a second of work to reach their full speed.
WARM_UP_SECONDS = 0.8
# The confidence of all interim analyses of the data together.
CONFIDENCE = 0.95


class Side:
    """One process of a pair; it is loaded only during its turns."""

    def __init__(self, server, load):
        self.server, self.load = server, load
        self.answers, self.own, self.below = 0, 0.0, 0.0

    def warm_up(self):
        self.load.start()
        time.sleep(WARM_UP_SECONDS)
        self.load.pause()

    def take_turn(self):
        """Loads it for one turn, and returns the responses per second."""
        answers, (own, below) = self.load.answers(), self.server.processor_seconds()
        begun = time.monotonic()
        self.load.resume()
        time.sleep(TURN_SECONDS)
        self.load.pause()
        seconds = time.monotonic() - begun
        own_after, below_after = self.server.processor_seconds()
        answers = self.load.answers() - answers
        self.answers, self.own, self.below = self.answers + answers, self.own + own_after - own, self.below + below_after - below
        time.sleep(REST_SECONDS)
        return answers / seconds

    def processor_per_answer(self):
        # lagmond's is in `own`.
        return (self.own + self.below) / self.answers


def idle_share_of(fields_before, fields_after):
    total = sum(fields_after) - sum(fields_before)
    return (fields_after[3] + fields_after[4] - fields_before[3] - fields_before[4]) / max(1, total)


def processor_times():
    return [int(field) for field in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]


def others_share(seconds=0.2):
    """The share of the machine's processors that other processes use while this one sleeps, 0 to 1."""
    before = processor_times()
    time.sleep(seconds)
    return 1 - idle_share_of(before, processor_times())


def processors():
    """The processors of the program and of its load; the same set if only one is available."""
    allowed = sorted(os.sched_getaffinity(0))
    return ({allowed[-1]}, set(allowed[:-1])) if len(allowed) > 1 else (set(allowed), set(allowed))


def measure_pair(program, watch, chance, placing, report_false):
    """Measures one pair. Returns the logarithms of the turns' ratios, both sides, and the number of records without a stall."""
    program_set, load_set = placing
    watched, bare = program.server(watch), program.server()
    first, second = chance.sample([watched, bare], 2)
    with first.on(program_set), second.on(program_set):
        sides = [Side(server, program.load_of(server, load_set)) for server in (watched, bare)]
        ratios = []
        try:
            for side in sides:
                side.warm_up()
            for _ in range(TURNS):
                rates = {side: side.take_turn() for side in chance.sample(sides, 2)}
                ratios.append(math.log(rates[sides[0]] / rates[sides[1]]))
            for side in sides:
                side.load.finish()
        finally:
            for side in sides:
                side.load.kill()
        false = report_false(watched)
    return ratios, *sides, false


def compare(program, watch, stages, at_least, report_false):
    """Returns the ratio of the throughputs, the verdict on it, its interval, and the number of records without a stall."""
    chance, placing = random.Random(), processors()
    ratios, costs, shares, bare_rates, busy, false = [], [], [], [], [], 0
    for stage in stages:
        while len(ratios) < stage:
            if len(ratios) % 5 == 0:
                busy.append(others_share())
            of_turns, watched, bare, records = measure_pair(program, watch, chance, placing, report_false)
            ratios.append(centre(of_turns))
            costs.append(math.log(watched.processor_per_answer() / bare.processor_per_answer()))
            shares.append(watched.own / max(watched.below, 1e-9))
            bare_rates.append(bare.answers / (TURNS * TURN_SECONDS))
            false += records
        confidence = 1 - (1 - CONFIDENCE) / len(stages)
        ratio, low, high = (math.exp(value) for value in centre_and_interval(ratios, confidence))
        decided = verdict(low, high, at_least)
        if decided != "undecided":
            break
    cost, cost_low, cost_high = (math.exp(value) for value in centre_and_interval(costs, confidence))
    say(
        f"  {program.name}: throughput {ratio:.4f} of bare ({low:.4f} to {high:.4f}): {decided}; {len(ratios)} pairs, bare "
        f"{statistics.median(bare_rates):.0f}/s; CPU time per request {cost:.4f} of bare ({cost_low:.4f} to {cost_high:.4f}), "
        f"lagmond's own {statistics.median(shares):.2%}; others used {statistics.median(busy):.0%} of the machine"
    )
    return ratio, decided, low, high, false
