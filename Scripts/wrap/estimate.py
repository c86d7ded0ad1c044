"""Estimates from paired measurements, for any distribution of the noise; for Scripts/wrap."""
import itertools
import math
import statistics


def walsh_averages(values):
    return sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(values, 2))


def signed_rank_rank(count, error):
    """The largest rank k so that the sum of signed ranks of `count` values is below k in at most `error` of all cases; 0: none."""
    # Sums of subsets of 1…count, by how many subsets there are (Wilcoxon 1945).
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
    """Where the middle of a symmetric distribution lies (Hodges and Lehmann): near to the mean, but a value far out moves it little."""
    return statistics.median(walsh_averages(values))


def centre_and_interval(values, confidence):
    """The centre, and an interval that contains it with exactly that probability, only from the ranks: (centre, low, high).
    A pair is symmetric if the two differ by nothing but a factor."""
    averages = walsh_averages(values)
    rank = signed_rank_rank(len(values), (1 - confidence) / 2)
    if rank == 0:
        return statistics.median(averages), -math.inf, math.inf
    return statistics.median(averages), averages[rank - 1], averages[-rank]


def verdict(low, high, at_least):
    """Only by the interval: an estimate on the right side may be chance."""
    if low >= at_least:
        return "passed"
    return "missed" if high < at_least else "undecided"
