"""What is done to one program of Scripts/programs, and what lagmond said meanwhile."""
import dataclasses
import os
import re
import threading
import time

from harness import Failure, free_port, say, wait_until
from judge import Made, begin_of, facts, is_excused, match, seconds_of, wrong_with
from program import BLOCK_SECONDS, same_text
from session import FullWatch, Session

QUICK = os.environ.get("QUICK") == "1"
# Long enough for an action after FullWatch.HANG_SECONDS, and its report up to 0.8 s late.
IDLE_SECONDS = float(os.environ.get("IDLE_SECONDS", 7 if QUICK else 60))
LOAD_SECONDS = float(os.environ.get("LOAD_SECONDS", 3 if QUICK else 60))
STALL_REPEATS = 1 if QUICK else 3
# What a program does of its own after its start, before the first request.
SETTLE_SECONDS = 1.0
# A loop has to come back to its wait between two stalls.
BETWEEN_STALLS_SECONDS = 0.3


@dataclasses.dataclass
class Result:
    """What the line of a program says, in its order, and the facts of what went wrong."""

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
    names: str = "-"
    failures: list = dataclasses.field(default_factory=list)

    @property
    def is_good(self):
        return self.same and self.found == self.stalls and not self.false and not self.actions

    def line(self):
        return (
            f"program {self.name} loops={self.loops} stalls={self.stalls} found={self.found} false={self.false} actions={self.actions} "
            f"cpu_idle={self.cpu_idle:.2%} cpu_load={self.cpu_load:.2%} same={'yes' if self.same else 'no'} way={self.way} "
            f"set={'known' if self.is_known else 'unseen'} names={self.names}"
        )

    def fail(self, text):
        self.failures.append(text)
        say(f"  {self.name}: {text}")


class Measurement:
    """One program, one way."""

    def __init__(self, kind, folder, lagmond, way):
        self.kind, self.folder, self.lagmond, self.way = kind, folder, lagmond, way
        self.result = Result(kind.name if way == "run" else f"{kind.name}-{way}", is_known=kind.is_known, way=way)
        self.made, self.phases = [], []

    def session(self, watch=None):
        home = self.folder / f"{self.kind.name}-{self.way}-{'watched' if watch else 'bare'}"
        home.mkdir()
        home.chmod(0o755)
        return Session(self.kind(home, free_port()), watch)

    def run(self):
        bare = self.bare() if self.way == "run" else None
        with self.session(FullWatch(self.lagmond, self.way, self.folder)) as session:
            self.phase("start")
            watched = self.phases_of(session)
            self.phase("end")
            watched_end = session.finish()
            if self.way != "run":
                # lagmond ends with what it watches, and writes its last lines.
                session.attached.wait(timeout=10)
        self.judge(session)
        if bare is not None:
            self.compare(bare, (watched_end, watched, same_text(session.output())))
        if session.left_behind:
            say(f"  {self.result.name}: {len(session.left_behind)} processes were still there after its end")
        return self.result

    def phase(self, name):
        self.phases.append((time.monotonic(), name))

    def bare(self):
        """Status, conversation and output of the program without lagmond."""
        with self.session() as session:
            time.sleep(0.3)
            talk = session.program.converse(session)
            status = session.finish()
        return status, same_text(talk), same_text(session.output())

    def phases_of(self, session):
        result = self.result
        if self.way != "run":
            wait_until("lagmond's health page", session.loops_page, 10)
        time.sleep(SETTLE_SECONDS)
        self.phase("stalls")
        for stall in session.program.stalls() * STALL_REPEATS:
            self.cause(session, stall)
        self.phase("conversation")
        talk = session.program.converse(session)
        self.phase("load")
        result.cpu_load = self.share(session, lambda: session.program.load(session, LOAD_SECONDS))
        self.phase("after load")
        time.sleep(0.5)
        names = sorted({f"{process}/{loop}" for process, loop in session.loops()})
        result.loops = len(session.loops())
        result.names = ",".join(name.replace(" ", "_") for name in names[:8]) + (f",+{len(names) - 8}" if len(names) > 8 else "") or "-"
        for _, loop in session.loops():
            if not re.fullmatch(session.program.loop_names, loop):
                result.fail(f"a loop is named {loop}")
                result.same = False
        self.phase("idle")
        result.cpu_idle = self.share(session, lambda: time.sleep(IDLE_SECONDS))
        return same_text(talk)

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
            raise Failure(f"{self.result.name}, {stall.name}: was over after {ended - asked:.2f} s, so it blocked nothing")
        self.made.append(Made(stall, asked, ended))
        time.sleep(BETWEEN_STALLS_SECONDS)

    def judge(self, session):
        result = self.result
        records = {}
        for record in session.records():
            # Of a hang's two lines the last one has all.
            records[record["id"]] = record
        matched, left = match(self.made, records.values())
        result.stalls = len(self.made)
        for index, (made, record) in enumerate(zip(self.made, matched), 1):
            wrong = wrong_with(made, record) if record else ["no record"]
            result.found += not wrong
            if wrong:
                result.fail(f"stall {index}, {made.stall.name}: {'; '.join(wrong)}{': ' + facts(record) if record else ''}")
        for record in left:
            when = self.phase_at(begin_of(record) + seconds_of(record))
            if is_excused(record):
                say(f"  {result.name}: a true record ({when}), it waited for a processor: {facts(record)}")
            else:
                result.false += 1
                result.fail(f"false record ({when}): {facts(record)}")
        actions = session.actions()
        result.actions = len(actions)
        for action in actions:
            result.fail(f"action: {action}")
        for line in session.said_by_lagmond().splitlines():
            say(f"  {result.name} says {line}")

    def phase_at(self, moment):
        return [name for begun, name in self.phases if begun <= moment][-1]

    def compare(self, bare, watched):
        for what, before, after in zip(("status", "conversation", "output"), bare, watched):
            if before != after:
                self.result.same = False
                self.result.fail(f"another {what} than bare: {after[-300:] if isinstance(after, str) else after}, "
                                 f"not {before[-300:] if isinstance(before, str) else before}")
