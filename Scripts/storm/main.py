"""Runs the attacks for Scripts/storm/run: main.py LAGMOND SUBJECT [ATTACK…]. Prints one line per attack on stdout, details on stderr."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import hosts
import kills
import neighbours
import outputs
import soak
import surroundings
from attack import LeftOut, Result, Storm
from harness import Failure, say

ATTACKS = {**hosts.ATTACKS, **outputs.ATTACKS, **kills.ATTACKS, **surroundings.ATTACKS, **neighbours.ATTACKS, **soak.ATTACKS}


def private_copy(folder, *files):
    """Copies the files to a folder that every user can read, and that no build changes during the run."""
    binaries = folder / "bin"
    binaries.mkdir()
    return [shutil.copy(file, binaries) for file in files]


def make(name, storm):
    """Runs one attack. Returns False if it harmed, lost stalls unseen, or failed."""
    begun = time.monotonic()
    try:
        result = ATTACKS[name](storm)
    except LeftOut as reason:
        print(f"storm {name} left out: {reason}", flush=True)
        return os.environ.get("ALL") != "1"
    except (Failure, OSError, subprocess.SubprocessError, KeyError, ValueError) as failure:
        result = Result()
        result.add(1, f"{type(failure).__name__}: {failure}")
    print(result.line(name, time.monotonic() - begun), flush=True)
    for note in result.notes[:10]:
        say(f"  {name}: {note}")
    return not result.harmed and not result.lost_unseen


def main():
    lagmond, subject = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    names = sys.argv[3:] or list(ATTACKS)
    unknown = [name for name in names if name not in ATTACKS]
    if unknown:
        sys.exit(f"storm: unknown attack {', '.join(unknown)}; allowed: {', '.join(ATTACKS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("storm: ended by a signal"))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lagmonitor-storm."))
    folder.chmod(0o755)
    try:
        copies = private_copy(folder, lagmond, subject, lagmond.with_name("liblagmonitor-preload.so"))
        storm = Storm(folder, *copies[:2], os.environ.get("QUICK") == "1", int(os.environ.get("SEED", "1")))
        failed = [name for name in names if not make(name, storm)]
        if failed and os.environ.get("AGAIN") == "1":
            say(f"storm: repeating: {', '.join(failed)}")
            failed = [name for name in failed if not make(name, storm)]
    finally:
        if os.environ.get("KEEP") == "1":
            say(f"  lines and messages: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    for name in failed:
        say(f"storm: {name} failed")
    sys.exit(1 if failed else 0)


main()
