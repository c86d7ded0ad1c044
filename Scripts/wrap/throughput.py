"""A program's throughput under lagmond by that of the bare one; for Scripts/wrap.

In pairs of fresh processes, as two processes of the same program differ by some parts in a hundred of their own. The two are loaded in
turn for a tenth of a second, so that what the machine does meanwhile meets both. Where there are two processors, the program (with
lagmond, where it has one) is on one of them, and the load on the other: the program is what limits, and lagmond's time is taken from
it."""
import math
import os
import pathlib
import random
import statistics
import time

from estimate import centre_and_interval, verdict
from harness import say

SLICE_SECONDS, SLICES = 0.1, 6
WARM_UP_SECONDS = 0.15
# Two looks at the data, each with half of the error.
CONFIDENCE, LOOKS = 0.95, 2


class Side:
    """One of a pair, under load whenever it has its turn."""

    def __init__(self, server, load):
        self.server, self.load, self.seconds = server, load, 0.0

    def begin(self):
        self.processor_before = self.server.processor_seconds()
        begun = time.monotonic()
        self.load.start()
        self.load.pause()
        self.seconds += time.monotonic() - begun

    def take_turn(self):
        begun = time.monotonic()
        self.load.resume()
        time.sleep(SLICE_SECONDS)
        self.load.pause()
        self.seconds += time.monotonic() - begun

    def end(self):
        begun = time.monotonic()
        requests = self.load.finish()
        self.seconds += self.load.ended - begun
        own, below = (after - before for before, after in zip(self.processor_before, self.server.processor_seconds()))
        self.rate = requests / self.seconds
        # lagmond's is in `own` where the program is below it.
        self.processor_per_request = (own + below) / requests
        self.watching_share = own / max(below, 1e-9)


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
    """Of the program, and of its load: both the same set where there is but one."""
    allowed = sorted(os.sched_getaffinity(0))
    return ({allowed[-1]}, set(allowed[:-1])) if len(allowed) > 1 else (set(allowed), set(allowed))


def measure_pair(program, lagmond, chance, placing, report_false):
    program_set, load_set = placing
    wrapped, bare = program.server(lagmond), program.server()
    first, second = chance.sample([wrapped, bare], 2)
    with first.on(program_set), second.on(program_set):
        sides = [Side(server, program.load_of(server, load_set)) for server in (wrapped, bare)]
        try:
            for side in sides:
                side.load.warm_up(WARM_UP_SECONDS)
            for side in sides:
                side.begin()
            for _ in range(SLICES):
                for side in chance.sample(sides, 2):
                    side.take_turn()
            for side in sides:
                side.end()
        finally:
            for side in sides:
                side.load.kill()
        false = report_false(wrapped)
    return sides[0], sides[1], false


def compare(program, lagmond, stages, at_least, report_false):
    """The ratio of the throughputs, what is to be said of it, and how many records there were without a stall."""
    chance, placing = random.Random(), processors()
    rates, costs, shares, bare_rates, busy, false = [], [], [], [], [], 0
    for stage in stages:
        while len(rates) < stage:
            if len(rates) % 5 == 0:
                busy.append(others_share())
            wrapped, bare, records = measure_pair(program, lagmond, chance, placing, report_false)
            rates.append(math.log(wrapped.rate / bare.rate))
            costs.append(math.log(wrapped.processor_per_request / bare.processor_per_request))
            shares.append(wrapped.watching_share)
            bare_rates.append(bare.rate)
            false += records
        confidence = 1 - (1 - CONFIDENCE) / LOOKS
        ratio, low, high = (math.exp(value) for value in centre_and_interval(rates, confidence))
        decided = verdict(low, high, at_least)
        if decided != "undecided":
            break
    cost, cost_low, cost_high = (math.exp(value) for value in centre_and_interval(costs, confidence))
    say(
        f"  {program.name}: throughput {ratio:.4f} of bare ({low:.4f} to {high:.4f}): {decided}; {len(rates)} pairs, bare "
        f"{statistics.median(bare_rates):.0f}/s; processor time a request {cost:.4f} of bare ({cost_low:.4f} to {cost_high:.4f}), "
        f"lagmond's own {statistics.median(shares):.2%}; others used {statistics.median(busy):.0%} of the machine"
    )
    return ratio, decided, low, high, false
