"""Estimates from paired measurements, for any distribution of the noise; for Scripts/wrap."""
import itertools
import math
import statistics


def walsh_averages(values):
    return sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(values, 2))


def signed_rank_rank(count, error):
    """The largest rank k for which the sum of signed ranks of `count` values is below k with a probability of at most `error`; 0: none."""
    # ways[s]: the number of subsets of 1…count with the sum s (Wilcoxon 1945).
    ways = [1]
    for rank in range(1, count + 1):
        ways = [
            (ways[total] if total < len(ways) else 0) + (ways[total - rank] if total >= rank else 0)
            for total in range(len(ways) + rank)
        ]
    below, allowed = 0, error * 2**count
    for total, subsets in enumerate(ways):
        below += subsets
        if below > allowed:
            return total
    return len(ways)


def centre(values):
    """The Hodges-Lehmann estimate of the centre of a symmetric distribution: near the mean, but robust against outliers."""
    return statistics.median(walsh_averages(values))


def centre_and_interval(values, confidence):
    """The centre, and an interval that contains it with the probability `confidence`: (centre, low, high). It is computed only from ranks. It requires
    a symmetric distribution, which holds if the two sides of a pair differ only by a factor."""
    averages = walsh_averages(values)
    rank = signed_rank_rank(len(values), (1 - confidence) / 2)
    if rank == 0:
        return statistics.median(averages), -math.inf, math.inf
    return statistics.median(averages), averages[rank - 1], averages[-rank]


def verdict(low, high, at_least):
    """The verdict by the interval, because the estimate alone may be above the limit by chance."""
    if low >= at_least:
        return "passed"
    return "missed" if high < at_least else "undecided"
