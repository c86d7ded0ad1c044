"""lagmond's records as text, and which of them belong to no stall; for Scripts/wrap and Scripts/programs."""
from harness import say


def describe(line):
    frames = " < ".join(frame.get("symbol") or "?" for frame in line["frames"][:6])
    return f"{line['kind']} {line['cause']} {line['duration_ms']} ms {frames}"


def was_starved(line):
    """Whether the kernel counts most of that time as a wait for a processor. Such a record is true: other work was in the way."""
    return line["cause"] == "runqueue" and line.get("run_delay_ms", 0) > line["duration_ms"] / 2


def false_records(server, known, when):
    lines = {line["id"]: line for line in server.records() if line["id"] not in known}
    starved = [line for line in lines.values() if was_starved(line)]
    if starved:
        say(f"  {server.name}: {len(starved)} true records {when}: it waited for a processor that others had, for the longest "
            f"{max(line['duration_ms'] for line in starved):.0f} ms")
    for line in lines.values():
        if not was_starved(line):
            say(f"  {server.name}: false record {when}: {describe(line)}")
    return len(lines) - len(starved)
