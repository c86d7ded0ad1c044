"""Stalls, loads and observes one program of Scripts/programs, and checks lagmond's reports."""
import collections
import dataclasses
import os
import re
import threading
import time

from harness import Failure, free_port, say, wait_until
from matching import Made, begin_of, facts, is_excused, is_of_waiting_loop, match, seconds_of, wrong_with
from program import same_text
from session import FullWatch, Session
from stalls import BLOCK_SECONDS

QUICK = os.environ.get("QUICK") == "1"
# Long enough for an action after FullWatch.HANG_SECONDS and its report, which may be 0.8 s late.
IDLE_SECONDS = float(os.environ.get("IDLE_SECONDS", 7 if QUICK else 60))
LOAD_SECONDS = float(os.environ.get("LOAD_SECONDS", 2 if QUICK else 60))
STALL_REPEATS = 1 if QUICK else 3
# Between a program's start and its first request. Less than a second, so that no one-second timer of a loop reveals it before.
SETTLE_SECONDS = 0.5
# How long a hang lasts, and how late lagmond may act on it.
HANG_SECONDS, LATE_SECONDS = FullWatch.HANG_SECONDS + 3, 1.0
# The share of a processor that lagmond may take for one idle process, if attached (it then polls), and for each further one: 2 % for a hundred children.
IDLE_LIMIT, ATTACH_LIMIT, CHILD_LIMIT = 0.005, 0.01, 0.00015
# The programs that also hang with QUICK=1.
QUICK_HANGS = ("nginx", "redis", "asyncio", "node", "nsd")
# A loop must return to its wait between two stalls.
BETWEEN_STALLS_SECONDS = 0.3

# Set to stop the run: running measurements end their programs, and no other measurement begins.
STOPPING = threading.Event()


@dataclasses.dataclass
class Result:
    """The fields of a program's line, in order, and the facts about failures."""

    name: str
    loops: int = 0
    stalls: int = 0
    found: int = 0
    false: int = 0
    actions: int = 0
    cpu_idle: float = 0.0
    cpu_load: float = 0.0
    same: bool = True
    is_known: bool = False
    way: str = "run"
    # When lagmond acted on a hang, in seconds after its beginning; "-": no hang was made.
    acted: str = "-"
    # It acted too late, too early, or never.
    is_late: bool = False
    # How many of these faults its class declares.
    declared: int = 0
    names: str = "-"
    # No loop is watched, and lagmond does not report that.
    is_silent: bool = False
    # Faults that are not declared.
    failures: list = dataclasses.field(default_factory=list)
    # Declared faults that did not occur.
    better: list = dataclasses.field(default_factory=list)

    @property
    def is_good(self):
        """Whether there is no fault, declared or not."""
        return not self.declared and not self.failures

    def line(self):
        return (
            f"program {self.name} loops={self.loops} stalls={self.stalls} found={self.found} false={self.false} "
            f"actions={self.actions if self.way == 'run' else '-'} "
            f"cpu_idle={self.cpu_idle:.2%} cpu_load={self.cpu_load:.2%} same={'yes' if self.same else 'no'} way={self.way} "
            f"acted={self.acted} declared={self.declared} set={'known' if self.is_known else 'unseen'} silent={'yes' if self.is_silent else 'no'} names={self.names}"
        )

    def fail(self, text, why=""):
        """Counts a fault. why: the reason, if the program's class declares the fault."""
        if why:
            self.declared += 1
            print(f"program {self.name} known fault: {' '.join(text.split())}: {why}", flush=True)
        else:
            self.failures.append(text)
            say(f"  {self.name}: {text}")

    def improve(self, text):
        self.better.append(text)
        print(f"program {self.name} better than declared: {text}", flush=True)


def short_names(loops):
    """The loops as process/loop; loops whose names differ only in a thread number are combined."""
    counts = collections.Counter(f"{process}/{re.sub(r'[0-9]+', '', loop).strip()}".replace(" ", "_") for process, loop in loops)
    return ",".join(name + (f"*{count}" if count > 1 else "") for name, count in sorted(counts.items())) or "-"


class Measurement:
    """The measurement of one program, with `lagmond run` or `lagmond attach`."""

    def __init__(self, kind, folder, lagmond, way, turn):
        """turn: a lock that is held except while the program is idle, so that one program may be idle while another one is loaded."""
        self.kind, self.folder, self.lagmond, self.way, self.turn = kind, folder, lagmond, way, turn
        self.result = Result(kind.name if way == "run" else f"{kind.name}-{way}", is_known=kind.is_known, way=way)
        self.made, self.phases = [], []

    def session(self, what, watch=None):
        home = self.folder / f"{self.kind.name}-{self.way}-{what}"
        home.mkdir()
        home.chmod(0o755)
        return Session(self.kind(home, free_port()), watch)

    def run(self):
        bare = self.short("bare")
        if self.way == "run":
            self.compare(bare, self.short("short", self.watch()))
        with self.turn:
            with self.session("watched", self.watch()) as session:
                self.phase("start")
                self.phases_of(session)
                self.phase("end")
                status = session.finish()
                if self.way != "run":
                    self.compare(bare[:1], (status,))
                    # lagmond exits after the program that it watches, and writes its last lines before.
                    session.attached.wait(timeout=10)
        self.match_records(session)
        if self.way == "run" and session.program.can_hang and (not QUICK or self.kind.name in QUICK_HANGS):
            with self.turn:
                self.hang()
        if session.left_behind:
            say(f"  {self.result.name}: {len(session.left_behind)} processes still existed after its end")
        return self.result

    def hang(self):
        """Makes the program hang soon after its start, while clients wait; lagmond must restart it."""
        with self.session("hang", self.watch()) as session:
            time.sleep(SETTLE_SECONDS)
            acted = session.program.hang(session, HANG_SECONDS)
        self.result.acted = "never" if acted is None else f"{acted:.1f}"
        self.result.is_late = acted is None or not 0 <= acted - FullWatch.HANG_SECONDS <= LATE_SECONDS
        if self.result.is_late:
            self.result.fail(f"action on a hang after {self.result.acted} s", self.kind.no_action)
        elif self.kind.no_action:
            self.result.improve(f"action on a hang after {self.result.acted} s")

    def phase(self, name):
        self.phases.append((time.monotonic(), name))

    def watch(self):
        return FullWatch(self.lagmond, self.way, self.folder)

    def short(self, what, watch=None):
        """Starts the program, converses, and ends it. Returns its status, conversation and output."""
        with self.session(what, watch) as session:
            talk = session.program.converse(session)
            status = session.finish()
        for record in session.records():
            self.count_unmatched(record, "the short run")
        return status, same_text(talk), same_text(session.output()) if session.program.output_is_same else ""

    def phases_of(self, session):
        result = self.result
        if self.way != "run":
            wait_until("lagmond's health page", session.loops_page, 10)
        time.sleep(SETTLE_SECONDS)
        self.phase("stalls")
        for stall in session.program.stalls() * STALL_REPEATS:
            self.cause(session, stall)
        self.phase("conversation")
        session.program.converse(session)
        self.phase("load")
        result.cpu_load = self.share(session, lambda: session.program.load(session, LOAD_SECONDS))
        self.phase("after load")
        time.sleep(0.5)
        self.phase("idle")
        with session.program.idle_clients():
            result.cpu_idle = self.share(session, self.leave_alone)
            loops, processes = session.loops(), session.processes()
        result.loops, result.names = len(loops), short_names(loops)
        limit = self.kind.idle_limit or (IDLE_LIMIT if self.way == "run" else ATTACH_LIMIT) + CHILD_LIMIT * max(0, processes - 1)
        # At first lagmond searches for loops.
        if IDLE_SECONDS >= 30 and result.cpu_idle > limit:
            result.fail(f"lagmond took {result.cpu_idle:.2%} of a processor while {processes} processes were idle, more than {limit:.2%}")

    def leave_alone(self):
        self.turn.release()
        try:
            if STOPPING.wait(IDLE_SECONDS):
                raise Failure("ended by a signal")
        finally:
            self.turn.acquire()

    def share(self, session, work):
        before, begun = session.lagmond_seconds(), time.monotonic()
        work()
        return (session.lagmond_seconds() - before) / (time.monotonic() - begun)

    def cause(self, session, stall):
        outcome = {}

        def block():
            try:
                outcome["times"] = stall.block(session)
            except Exception as error:
                outcome["error"] = error

        asked = time.monotonic()
        blocker = threading.Thread(target=block)
        blocker.start()
        blocker.join()
        ended = time.monotonic()
        if "error" in outcome:
            raise Failure(f"{self.result.name}, {stall.name}: {outcome['error']}")
        if isinstance(outcome["times"], tuple):
            asked, ended = outcome["times"]
        if ended - asked < BLOCK_SECONDS / 2:
            raise Failure(f"{self.result.name}, {stall.name}: ended after {ended - asked:.2f} s, so it did not block the loop")
        self.made.append(Made(stall, asked, ended))
        time.sleep(BETWEEN_STALLS_SECONDS)

    def match_records(self, session):
        result = self.result
        records = {}
        for record in session.records():
            # A hang has two lines; the last one is complete.
            records[record["id"]] = record
        waiting = session.program.waiting_loop
        records = [record for record in records.values() if not (waiting and is_of_waiting_loop(record, waiting, self.made))]
        matched, left = match(self.made, records)
        result.stalls = len(self.made)
        occurrences, found = collections.Counter(), collections.Counter()
        for index, (made, record) in enumerate(zip(self.made, matched), 1):
            name = made.stall.name
            occurrences[name] += 1
            wrong = wrong_with(made, record) if record else ["no record"]
            found[name] += not wrong
            if wrong:
                miss = self.kind.misses.get(name)
                why = miss.why if miss and (occurrences[name] == 1 or not miss.only_first) else ""
                result.fail(f"stall {index}, {name}: {'; '.join(wrong)}{': ' + facts(record) if record else ''}", why)
        result.found = found.total()
        for name in self.kind.misses:
            if not occurrences[name]:
                result.fail(f"declares that a stall is missed which does not exist: {name}")
            elif found[name] == occurrences[name]:
                result.improve(f"each stall found: {name}")
        for record in left:
            self.count_unmatched(record, self.phase_at(begin_of(record) + seconds_of(record)))
        actions = session.actions()
        result.actions = len(actions)
        for action in actions:
            result.fail(f"action: {action}")
        if result.loops == 0 and not re.search("not watched|from outside", session.said_by_lagmond()):
            result.is_silent = True
            result.fail("no loop is watched, and lagmond does not report that")
        for line in session.said_by_lagmond().splitlines():
            say(f"  {result.name} printed {line}")

    def count_unmatched(self, record, when):
        """Counts a record that matches no caused stall."""
        if is_excused(record):
            say(f"  {self.result.name}: a true record ({when}), the thread waited for a processor: {facts(record)}")
        else:
            self.result.false += 1
            self.result.fail(f"false record ({when}): {facts(record)}")

    def phase_at(self, moment):
        return next((name for begun, name in reversed(self.phases) if begun <= moment), "the start")

    def compare(self, bare, watched):
        """Compares what the program's users see in a short run, without lagmond and with it."""
        for what, before, after in zip(("status", "conversation", "output"), bare, watched):
            if before != after:
                self.result.same = False
                self.result.fail(f"{what} differs from the bare run: {after[-300:] if isinstance(after, str) else after}, "
                                 f"not {before[-300:] if isinstance(before, str) else before}", self.kind.differs)
        if self.kind.differs and self.result.same:
            self.result.improve("as bare")
