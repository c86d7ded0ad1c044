"""Stalls a program 30 times a second for an hour. lagmond's memory, descriptors and threads must not grow.

The test: the Theil-Sen slope (the median of the slopes of all pairs of samples, which is robust against outliers) of the second half of the samples. For
descriptors and threads it must be 0. For the resident memory, per hour: less than 8 MB; less than 128 MB if the soak is shorter than ten
minutes, because it then includes the warm-up.

A watchdog that waits for a processor for 5 ms misses a stall of 15 ms. lagmond cannot count such stalls as lost; their number is limited
by the time for which the watchdog waited for a processor."""
import json
import os
import pathlib
import statistics
import time

from attack import Result, difference, true_stalls

STALLS_PER_SECOND = 30
STALL_MS, IDLE_MS = 15, 17
INTERVAL_MS, TIMEOUTS = 5, 2


def sample(pid):
    """Kilobytes, descriptors and threads of the process; None if it has exited."""
    try:
        status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
        return int(status["VmRSS"].split()[0]), len(os.listdir(f"/proc/{pid}/fd")), int(status["Threads"])
    except (OSError, KeyError):
        return None


def waited_ms(pid):
    """How long the process's watchdog waited for a processor (the second number of schedstat), when it cannot detect stalls. 0 if it has exited."""
    try:
        tasks = [task for task in pathlib.Path(f"/proc/{pid}/task").iterdir() if (task / "comm").read_text().strip() == "lag-watchdog"]
        return sum(int((task / "schedstat").read_text().split()[1]) for task in tasks) / 1e6
    except OSError:
        return 0


def slope(times, values):
    """The Theil-Sen slope per second."""
    pairs = [(values[b] - values[a]) / (times[b] - times[a]) for a in range(len(times)) for b in range(a + 1, len(times))]
    return statistics.median(pairs) if pairs else 0.0


def soak(storm):
    seconds = int(os.environ.get("SOAK_SECONDS", "25" if storm.quick else "3600"))
    stalls = seconds * STALLS_PER_SECOND
    place = storm.place("soak")
    config, truth, lines = place / "config.json", place / "truth", place / "lines"
    config.write_text(json.dumps({"monitor": {**storm.MONITOR, "interval_ms": INTERVAL_MS, "timeouts": TIMEOUTS}}))
    command = [
        storm.lagmond, "run", "--config", str(config), "--output", str(lines), "--max-bytes", "20000000", "--",
        *storm.host("sleep", stalls, truth, STALL_MS, IDLE_MS),
    ]
    times, samples, waited = [], [], 0
    with storm.start(command, place) as process:
        begun = time.monotonic()
        while process.poll() is None and time.monotonic() - begun < seconds * 2 + 60:
            # Limits the number of samples, and thus of pairs.
            time.sleep(max(0.5, seconds / 400))
            found = sample(process.pid)
            if found and process.poll() is None:
                times.append(time.monotonic() - begun)
                samples.append(found)
            waited = max(waited, waited_ms(process.pid))
        outcome = storm.wait(process, place, 10)
    expected = f"stalls={stalls} errors=0\n"
    result = Result()
    harm = outcome.crash() or ("" if (outcome.status, outcome.output) == (0, expected) else f"{outcome.status} {outcome.output!r}")
    # Leaves out the last samples, taken while lagmond exits.
    times, samples = times[len(times) // 2 : -2], samples[len(samples) // 2 : -2]
    memory, descriptors, threads = (slope(times, [values[index] for values in samples]) for index in range(3))
    allowed = 8192 if seconds >= 600 else 131_072
    if memory * 3600 > allowed:
        harm = harm or f"memory grows by {memory * 3600:.0f} kB an hour; allowed: {allowed}"
    if descriptors > 0 or threads > 0:
        harm = harm or f"growth per hour: {descriptors * 3600:.0f} descriptors, {threads * 3600:.0f} threads"
    happened = len(true_stalls(truth))
    counted = sum(outcome.count(name) for name in ("reported", "dropped", "suppressed", "dismissed"))
    short = max(0, happened - counted)
    unseen = int(waited / (STALL_MS - INTERVAL_MS * TIMEOUTS))
    result.add(
        stalls, harm, max(0, short - unseen),
        f"{short} stalls not counted, {waited:.0f} ms waiting for a processor, memory {memory * 3600:.0f} kB an hour, {samples[-1] if samples else 'no samples'} at the end, {happened / max(1, times[-1] if times else 1):.0f} stalls a second",
    )
    return result


ATTACKS = {"soak": soak}
