"""Runs many unmodified programs under lagmond; for Scripts/programs/run: main.py LAGMOND [all|PROGRAM…].

Prints one line per program on stdout, details on stderr, and at the end two lines with the sums: of the programs that were examined during the
monitor's development (known), and of all others (unseen). Only the second shows what to expect for a program that is not in the list."""
import concurrent.futures
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import catalogue
from harness import Failure, say
from measure import IDLE_SECONDS, LOAD_SECONDS, QUICK, STOPPING, Measurement
from packages import all_of, install
from program import LeftOut, has_command


def private_copy(lagmond, folder):
    """Copies lagmond and its library to a folder that every user can read, and that no build changes during the run."""
    binaries = folder / "bin"
    binaries.mkdir()
    for name in (lagmond, lagmond.with_name("liblagmonitor-preload.so")):
        shutil.copy(name, binaries)
    return str(binaries / lagmond.name)


def check_names(names):
    unknown = [name for name in names if name not in catalogue.NAMES]
    if unknown:
        sys.exit(f"programs: unknown program {', '.join(unknown)}; allowed: {', '.join(catalogue.NAMES)}")
    return names


def selection(words):
    """The programs of a run, and the word for them in its heading."""
    if words and words != ["all"]:
        return "named", check_names(words)
    return ("quick", list(catalogue.QUICK_NAMES)) if QUICK and not words else ("all", list(catalogue.NAMES))


def summary(title, results, left_out):
    """Prints the line with the sums of a set of programs."""
    stalls, found = sum(result.stalls for result in results), sum(result.found for result in results)
    good = sum(result.is_good for result in results)
    print(
        f"programs {title} programs={len(results)} good={good} stalls={stalls} found={found} false={sum(result.false for result in results)} "
        f"actions={sum(result.actions for result in results)} declared={sum(result.declared for result in results)} "
        f"better={sum(len(result.better) for result in results)} left_out={left_out}", flush=True,
    )


def heading(lagmond, chosen):
    """What identifies a run: table.py writes it above the tables."""
    folder = pathlib.Path(__file__).parent
    git = subprocess.run(["git", "-C", folder, "describe", "--always", "--dirty"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    version = subprocess.run([lagmond, "--version"], stdout=subprocess.PIPE, text=True).stdout.split()
    return (
        f"programs begun={time.strftime('%Y-%m-%dT%H:%MZ', time.gmtime())} commit={git.stdout.strip() or 'unknown'} version={version[-1]} "
        f"form={'quick' if QUICK else 'full'} selection={chosen} idle_s={IDLE_SECONDS:g} load_s={LOAD_SECONDS:g}"
    )


class Run:
    """Measures all programs in two lanes: one program is idle, starts or exits, while another one is stalled and loaded."""

    LANES = 2

    def __init__(self, names, folder, lagmond):
        self.names, self.folder, self.lagmond = names, folder, lagmond
        self.turn = threading.Lock()
        self.results, self.failed, self.left_out = [], [], []
        # Why a program's files could not be made, mostly by a compiler.
        self.unprepared = {}

    def measure(self, name):
        if STOPPING.is_set():
            return
        kind, way = catalogue.NAMES[name]
        begun = time.monotonic()
        try:
            for need in all_of(kind, "needs"):
                if not has_command(need):
                    raise LeftOut(f"{need} not found")
            if kind in self.unprepared:
                raise LeftOut(self.unprepared[kind])
            result = Measurement(kind, self.folder, self.lagmond, way, self.turn).run()
        except LeftOut as reason:
            self.left_out.append(kind)
            print(f"program {name} left out: {reason}", flush=True)
        except (Failure, OSError, subprocess.SubprocessError) as failure:
            self.failed.append(f"{name}: {failure}")
            print(f"program {name} failed: {' '.join(str(failure).split())}", flush=True)
        else:
            self.results.append(result)
            self.failed += [f"{name}: {text}" for text in result.failures]
            print(result.line(), flush=True)
            say(f"  {name}: {time.monotonic() - begun:.0f} s")

    def all(self):
        # Compilers would disturb the measurement.
        for kind in {catalogue.NAMES[name][0] for name in self.names}:
            if all(has_command(need) for need in all_of(kind, "needs")):
                try:
                    kind.prepare(self.folder)
                except (OSError, subprocess.SubprocessError) as error:
                    self.unprepared[kind] = str(error)
        with concurrent.futures.ThreadPoolExecutor(self.LANES) as lanes:
            for lane in [lanes.submit(self.measure, name) for name in self.names]:
                lane.result()
        if STOPPING.is_set():
            sys.exit("programs: ended by a signal")


def main():
    lagmond = pathlib.Path(sys.argv[1]).resolve()
    chosen, names = selection(sys.argv[2:])
    signal.signal(signal.SIGTERM, lambda *_: STOPPING.set())
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lagmonitor-programs."))
    folder.chmod(0o755)
    run = None
    install({catalogue.NAMES[name][0] for name in names})
    try:
        print(heading(lagmond, chosen), flush=True)
        if chosen == "quick":
            others = [name for name in catalogue.NAMES if name not in names]
            print(f"programs not in this selection: {len(others)} (PROGRAMS=all runs them): {' '.join(others)}", flush=True)
        run = Run(names, folder, private_copy(lagmond, folder))
        run.all()
    finally:
        if os.environ.get("KEEP") == "1":
            say(f"  records and logs: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    for title, is_known in (("known", True), ("unseen", False)):
        summary(title, [result for result in run.results if result.is_known == is_known], sum(kind.is_known == is_known for kind in run.left_out))
    for text in run.failed:
        say(f"programs: {text}")
    sys.exit(1 if run.failed else 0)


if __name__ == "__main__":
    main()
