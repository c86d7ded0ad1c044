"""The ratio of a program's throughput under lagmond to that of the bare one; for Scripts/wrap.

In pairs of fresh processes, because two processes of the same program differ by some parts in a thousand anyway. The two are loaded in
alternating turns of a tenth of a second, and each turn is compared with the adjacent one of the other: longer effects of the machine hit both, and short
ones only one turn of many. With two processors, the program (and lagmond, if it has one) is on one of them, and
the load on the other: the program is the bottleneck, and lagmond's time is taken from it."""
import math
import os
import pathlib
import random
import statistics
import time

from estimate import centre, centre_and_interval, verdict
from harness import say

# On a cloud machine, adjacent turns differ by 3 %, regardless of their length: so many short ones.
TURN_SECONDS, TURNS = 0.1, 30
# lagmond's last sample is within an interval after its program rests: it must not be in the other's turn.
REST_SECONDS = 0.06
# Programs that compile themselves as they run take half a second of work until they are as fast as they will be.
WARM_UP_SECONDS = 0.8
# For all interim analyses of the data together.
CONFIDENCE = 0.95


class Side:
    """One of a pair, under load whenever it has its turn."""

    def __init__(self, server, load):
        self.server, self.load = server, load
        self.answers, self.own, self.below = 0, 0.0, 0.0

    def warm_up(self):
        self.load.start()
        time.sleep(WARM_UP_SECONDS)
        self.load.pause()

    def take_turn(self):
        """Loads it for a moment, and gives the answers a second."""
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
    """What others use of the machine's processors while we do nothing, 0 to 1."""
    before = processor_times()
    time.sleep(seconds)
    return 1 - idle_share_of(before, processor_times())


def processors():
    """The processors of the program and of its load: the same set if there is only one."""
    allowed = sorted(os.sched_getaffinity(0))
    return ({allowed[-1]}, set(allowed[:-1])) if len(allowed) > 1 else (set(allowed), set(allowed))


def measure_pair(program, watch, chance, placing, report_false):
    """The logarithms of the turns' ratios, both sides, and records without a stall."""
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
    """The ratio of the throughputs, the verdict on it, and the number of records without a stall."""
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
        f"{statistics.median(bare_rates):.0f}/s; processor time a request {cost:.4f} of bare ({cost_low:.4f} to {cost_high:.4f}), "
        f"lagmond's own {statistics.median(shares):.2%}; others used {statistics.median(busy):.0%} of the machine"
    )
    return ratio, decided, low, high, false
