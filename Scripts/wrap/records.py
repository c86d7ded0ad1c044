"""Describes lagmond's records, and finds records without a stall; for Scripts/wrap."""
from harness import say


def describe(line):
    frames = " < ".join(frame.get("symbol") or "?" for frame in line["frames"][:6])
    return f"{line['kind']} {line['cause']} {line['duration_ms']} ms {frames}"


def was_starved(line):
    """Whether the thread waited for a processor for most of that time, by the kernel's count. Such a record is true: other processes had the processor."""
    return line["cause"] == "runqueue" and line.get("run_delay_ms", 0) > line["duration_ms"] / 2


def false_records(server, known, when):
    lines = {line["id"]: line for line in server.records() if line["id"] not in known}
    starved = [line for line in lines.values() if was_starved(line)]
    if starved:
        say(f"  {server.name}: {len(starved)} true records {when}: the thread waited for a processor; longest: "
            f"{max(line['duration_ms'] for line in starved):.0f} ms")
    for line in lines.values():
        if not was_starved(line):
            say(f"  {server.name}: false record {when}: {describe(line)}")
    return len(lines) - len(starved)
