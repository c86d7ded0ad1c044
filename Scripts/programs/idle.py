"""Leaves programs idle at the same time, each under `lagmond run --on-hang restart`; for `Scripts/programs/run LAGMOND idle [PROGRAM…]`.

Each has a silent client, if it accepts connections. Prints a line for each program and one with the sums:

    idle NAME seconds=N loops=N records=N actions=N cpu=N%

records counts those of the idle time whose thread did not only wait for a processor. Exits with 1 if there is a record or an action, or if a program
does not start or does not survive."""
import concurrent.futures
import contextlib
import os
import pathlib
import shutil
import socket
import sys
import tempfile
import time

import catalogue
from harness import Failure, free_port, say
from main import check_names, private_copy
from matching import begin_of, facts, is_excused, seconds_of
from packages import all_of, install
from program import has_command
from session import FullWatch, Session

SECONDS = float(os.environ.get("IDLE_SECONDS", 120))
# How many programs start at the same time.
LANES = 4


class Idle:
    """One program."""

    def __init__(self, kind, folder, lagmond):
        home = folder / kind.name
        home.mkdir()
        home.chmod(0o755)
        self.session = Session(kind(home, free_port()), FullWatch(lagmond, "run", folder))
        self.name, self.client = kind.name, None

    def start(self):
        self.session.__enter__()
        with contextlib.suppress(OSError):
            self.client = socket.create_connection(("127.0.0.1", self.session.port), timeout=1)

    def begin(self):
        self.begun, self.cpu = time.monotonic(), self.session.lagmond_seconds()

    def measure(self):
        """Prints the program's line. Returns the numbers of records and actions, and whether the program still runs."""
        seconds = time.monotonic() - self.begun
        cpu, loops = (self.session.lagmond_seconds() - self.cpu) / seconds, len(self.session.loops())
        records = {record["id"]: record for record in self.session.records() if begin_of(record) + seconds_of(record) > self.begun}
        records = [record for record in records.values() if not is_excused(record)]
        actions = self.session.actions()
        for text in [*map(facts, records), *actions]:
            say(f"  {self.name}: {text}")
        is_running = self.session.process.poll() is None
        ended = "" if is_running else f" ended={self.session.process.returncode}"
        print(f"idle {self.name} seconds={seconds:.0f} loops={loops} records={len(records)} actions={len(actions)} cpu={cpu:.2%}{ended}", flush=True)
        return len(records), len(actions), is_running

    def end(self):
        if self.client:
            self.client.close()
        self.session.__exit__()


def start(idle):
    """Returns the program if it has started."""
    try:
        idle.start()
        return idle
    except (Failure, OSError) as failure:
        print(f"idle {idle.name} failed: {' '.join(str(failure).split())}", flush=True)
        return None


def main():
    lagmond = pathlib.Path(sys.argv[1]).resolve()
    names = check_names(sys.argv[2:] or [name for name, (_, way) in catalogue.NAMES.items() if way == "run"])
    kinds = [catalogue.NAMES[name][0] for name in names]
    install(kinds)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lagmonitor-idle."))
    folder.chmod(0o755)
    try:
        lagmond = private_copy(lagmond, folder)
        available = [kind for kind in kinds if all(has_command(need) for need in all_of(kind, "needs"))]
        for kind in kinds:
            if kind not in available:
                print(f"idle {kind.name} left out: not available", flush=True)
        for kind in available:
            kind.prepare(folder)
        with concurrent.futures.ThreadPoolExecutor(LANES) as lanes:
            running = [idle for idle in lanes.map(lambda kind: start(Idle(kind, folder, lagmond)), available) if idle]
            for idle in running:
                idle.begin()
            time.sleep(SECONDS)
            results = [idle.measure() for idle in running]
            for _ in lanes.map(Idle.end, running):
                pass
    finally:
        if os.environ.get("KEEP") == "1":
            say(f"  records and logs: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    records, actions = (sum(result[index] for result in results) for index in (0, 1))
    ended = sum(not result[2] for result in results)
    print(f"idle all programs={len(results)} records={records} actions={actions} ended={ended} failed={len(available) - len(results)}", flush=True)
    sys.exit(1 if records or actions or ended or len(results) < len(available) else 0)


main()
