"""Shared code of the attacks: runs a program bare (without lagmond) and watched, and compares the stalls that the program logged with lagmond's records."""
import contextlib
import dataclasses
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import time

from harness import Failure


class LeftOut(Exception):
    """This machine does not allow the attack."""


@dataclasses.dataclass
class Result:
    """The result of an attack. Texts describe failures."""

    tries: int = 0
    harmed: int = 0
    lost_unseen: int = 0
    notes: list = dataclasses.field(default_factory=list)
    failed_tries: int = 0

    def add(self, tries, harm="", lost=0, note=""):
        """Adds `tries` tries, with at most one harmful one, and `lost` lost stalls."""
        self.tries += tries
        self.harmed += bool(harm)
        self.lost_unseen += lost
        self.failed_tries += min(tries, max(bool(harm), lost))
        for text in (harm, f"{lost} stalls lost unseen" if lost else "", note):
            if text:
                self.notes.append(text)

    def line(self, name, seconds):
        held = self.tries - self.failed_tries
        return f"storm {name} tries={self.tries} held={held} harmed={self.harmed} lost_unseen={self.lost_unseen} duration_s={seconds:.1f}"


@dataclasses.dataclass
class Outcome:
    """How a run ended."""

    status: int
    output: str
    messages: str
    seconds: float

    def crash(self):
        """Messages of lagmond about itself that must not appear; empty: none."""
        for word in ("Fatal error", "*** Signal", "Crash", "ThreadSanitizer", "AddressSanitizer", "corrupted"):
            if word in self.messages:
                return f"lagmond crashed: {self.messages[-400:]}"
        return ""

    def count(self, name):
        """A number of lagmond's summary; 0 if it is missing."""
        found = re.findall(rf"\b{name}=(\d+)", self.messages)
        return int(found[-1]) if found else 0

    def without_line(self, dismissed=1):
        """Stalls that were counted instead of recorded. At most `dismissed` of them may be dismissed: by default one, the last stall of an exiting host."""
        return sum(self.count(name) for name in ("dropped", "suppressed", "kept")) + min(dismissed, self.count("dismissed"))


def as_user(user):
    def change():
        os.setgid(user)
        os.setuid(user)

    return change


class Storm:
    """The environment of the attacks: folders, programs and settings."""

    # The stall exceeds the threshold below by the delay that the machine may add.
    STALL_MS, IDLE_MS = 60, 20
    LIMIT_SECONDS = 60
    MONITOR = {
        "interval_ms": 10, "timeouts": 2, "limit_burst": 0, "limit_all_burst": 0, "recurring_count": 0, "symbols": "names", "rules": "callout",
    }

    def __init__(self, folder, lagmond, subject, quick, seed):
        self.folder, self.lagmond, self.subject, self.quick = pathlib.Path(folder), lagmond, subject, quick
        self.random = random.Random(seed)
        self.number = 0
        self.config = self.folder / "config.json"
        self.config.write_text(json.dumps({"monitor": self.MONITOR}))
        self.config.chmod(0o644)

    def tries(self, full, quick):
        return quick if self.quick else full

    def place(self, name, mode=0o777):
        """Creates a folder, by default accessible to every user."""
        self.number += 1
        path = self.folder / f"{self.number}-{name}"
        path.mkdir()
        path.chmod(mode)
        return path

    def host(self, kind, stalls, truth=None, stall_ms=STALL_MS, idle_ms=IDLE_MS):
        return [self.subject, kind, str(stalls), str(stall_ms), str(idle_ms), *([str(truth)] if truth else [])]

    def watched(self, output, command, *options):
        return [self.lagmond, "run", "--config", str(self.config), "--output", str(output), *options, "--", *command]

    @contextlib.contextmanager
    def start(self, command, place, before=None, **options):
        """Runs the command inside the `with` block, and kills its process group at the end."""
        with open(place / "out", "w+") as out, open(place / "messages", "w+") as messages:
            process = subprocess.Popen(
                command, cwd=place, stdin=subprocess.DEVNULL, stdout=out, stderr=messages, preexec_fn=before, start_new_session=True, **options
            )
            try:
                yield process
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def wait(self, process, place, seconds=None):
        begun = time.monotonic()
        status = process.wait(timeout=seconds or self.LIMIT_SECONDS)
        text = [(place / name).read_text(errors="replace") for name in ("out", "messages")]
        return Outcome(status, *text, time.monotonic() - begun)

    def run(self, command, place, before=None, seconds=None):
        begun = time.monotonic()
        with self.start(command, place, before) as process:
            try:
                outcome = self.wait(process, place, seconds)
            except subprocess.TimeoutExpired:
                messages = (place / "messages").read_text(errors="replace")
                return Outcome(-1, "hangs", messages, time.monotonic() - begun)
        outcome.seconds = time.monotonic() - begun
        return outcome

    def bare(self, command, before=None):
        """Runs the program without lagmond, and returns the outcome.

        - Raises LeftOut if the program reports that the attack is not possible here."""
        outcome = self.run(command, self.place("bare"), before)
        if outcome.status == 77:
            raise LeftOut(" ".join(outcome.messages.split()))
        if outcome.status != 0:
            raise Failure(f"the bare program exits with {outcome.status}: {outcome.output} {outcome.messages}")
        return outcome


def difference(bare, watched):
    """Describes how a watched program was harmed; empty: it was not. The time limit is generous: the program shares a processor with lagmond."""
    if (bare.status, bare.output) != (watched.status, watched.output):
        return f"bare: {bare.status} {bare.output!r}, watched: {watched.status} {watched.output!r} {watched.messages[-300:]!r}"
    if watched.seconds > bare.seconds * 2 + 5:
        return f"bare: {bare.seconds:.1f} s, watched: {watched.seconds:.1f} s"
    return watched.crash()


def true_stalls(path):
    """The stalls that the program logged: start and duration in microseconds."""
    try:
        return [tuple(int(word) for word in line.split()) for line in path.read_text().splitlines() if line.count(" ") == 1]
    except FileNotFoundError:
        return []


def parsed(data, allow_torn_end=False):
    """Returns the lines, and the number of torn ones."""
    lines, torn = [], 0
    *whole, rest = data.split(b"\n")
    for line in whole:
        if not line:
            continue
        try:
            lines.append(json.loads(line))
        except ValueError:
            torn += 1
    return lines, torn + bool(rest and not allow_torn_end)


def stalls_in(lines):
    """The stalls of native lines: start and end in microseconds, by id."""
    return {line["id"]: (line["mono_us"], line["mono_us"] + line["duration_ms"] * 1000) for line in lines if line.get("event") == "stall"}


def unmatched(truth, stalls):
    """The number of true stalls of which no record covers at least half."""
    return sum(
        not any(min(end, start + length) - max(begin, start) >= length / 2 for begin, end in stalls.values()) for start, length in truth
    )


def lost_unseen(truth, stalls, outcome, dismissed=1):
    """The number of true stalls without a record and without a count.

    - dismissed: how many stalls lagmond may dismiss."""
    if "not watched" in outcome.messages:
        return 0
    return max(0, unmatched(truth, stalls) - outcome.without_line(dismissed))
