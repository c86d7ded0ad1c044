"""Compares records with the stalls that Scripts/programs caused."""
import dataclasses
import re

# How much a record's begin and duration may differ from the harness's measurement, which includes the request's way and other iterations of the loop.
BEGIN_SECONDS, DURATION_SECONDS = 0.15, 0.2
# Functions that wait for events or start the program must not be blamed for a handler.
NEVER_CULPRIT = (
    r"(__)?(libc_)?(epoll_p?wait2?|p?poll|p?select|p?selectx?)(64|_chk)?|lagmonitor_.*|_start|main|__libc_start.*|start_thread|clone3?|"
    r"uv_run|uv__io_poll|event_base_(loop|dispatch)|ev_run|g_main_(loop_run|context_iteration)"
)


@dataclasses.dataclass
class Made:
    """A stall that was caused; its times are by the monotonic clock."""

    stall: object
    asked: float
    ended: float


def begin_of(record):
    return record["mono_us"] / 1e6


def seconds_of(record):
    return record["duration_ms"] / 1e3


def overlap(made, record):
    """How long the record and the stall overlap, in seconds."""
    begin = begin_of(record)
    return min(made.ended, begin + seconds_of(record)) - max(made.asked, begin)


def match(mades, records):
    """Returns the record of each caused stall, or None, and the unmatched records."""
    left = list(records)
    matched = []
    for made in mades:
        candidates = [record for record in left if overlap(made, record) > seconds_of(record) / 2]
        best = max(candidates, key=lambda record: overlap(made, record), default=None)
        if best:
            left.remove(best)
        matched.append(best)
    return matched, left


def is_of_waiting_loop(record, loop, mades):
    """Whether the record is of the waiting loop, during a caused stall of the loop for which it waits."""
    return re.fullmatch(loop, record.get("loop", "")) and any(overlap(made, record) > seconds_of(record) * 0.9 for made in mades)


def wrong_with(made, record):
    """Describes the errors of the record, one text for each."""
    stall, wrong = made.stall, []
    early, late = made.asked - begin_of(record), begin_of(record) - made.asked
    if early > 0.05 or late > BEGIN_SECONDS + stall.way_seconds:
        wrong.append(f"begins {late * 1000:+.0f} ms relative to the request")
    expected = made.ended - made.asked
    if abs(seconds_of(record) - expected) > DURATION_SECONDS + stall.way_seconds:
        wrong.append(f"lasts {record['duration_ms']:.0f} ms, not {expected * 1000:.0f}")
    starved = record["cause"] == "runqueue" and "cpu" in stall.cause
    if record["cause"] not in stall.cause and not starved:
        wrong.append(f"cause {record['cause']}, not {' or '.join(stall.cause)}")
    symbols = [frame.get("symbol") or "?" for frame in record.get("frames", [])]
    if stall.frame and not any(re.fullmatch(stall.frame, symbol) for symbol in symbols):
        wrong.append(f"no frame {stall.frame}")
    culprit = record.get("culprit")
    if stall.culprit and not re.fullmatch(stall.culprit, culprit or ""):
        wrong.append(f"culprit {culprit}, not {stall.culprit}")
    elif culprit and not stall.culprit and re.fullmatch(NEVER_CULPRIT, culprit):
        wrong.append(f"culprit {culprit}, which waits")
    if not re.fullmatch(stall.loop, record.get("loop", "")):
        wrong.append(f"loop {record.get('loop')}, not {stall.loop}")
    return wrong


def facts(record):
    """The record's fields that help to find its reason, in one line."""
    frames = " < ".join(frame.get("symbol") or frame.get("module") or "?" for frame in record.get("frames", [])[:9])
    members = ("loop", "process_name", "pid", "thread_id", "phase", "cause", "duration_ms", "cpu_ms", "run_delay_ms", "blocked_ms", "pending",
               "pending_ms", "syscall", "syscall_target", "wchan", "culprit", "culprit_confidence", "capture_error")
    return " ".join(f"{name}={record[name]}" for name in members if record.get(name) is not None) + f" frames: {frames}"


def is_excused(record):
    """Whether only the wait for a busy processor made it a stall: such a record is true, but its stall was not caused on purpose."""
    return record["duration_ms"] - record.get("run_delay_ms", 0) < record["threshold_ms"]
