"""Attacks by other processes on the machine: a sibling with the shared loop table, clients of the HTTP service, malicious names and links; and a
system that lacks features that lagmond uses."""
import contextlib
import ctypes
import os
import pathlib
import platform
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time

from attack import LeftOut, Result, difference, lost_unseen, parsed, stalls_in, true_stalls
from harness import wait_until

OTHER_USER = 65534


def lines_in(path):
    found, torn = parsed(path.read_bytes() if path.exists() else b"")
    return stalls_in(found), torn


def compared(bare, outcome, truth, lines, tries, harm=""):
    """The requirement of every attack here: no visible effect, and each stall that the program logged has a record or a count."""
    result = Result()
    found, torn = lines_in(lines)
    harm = harm or difference(bare, outcome) or (f"{torn} torn lines" if torn else "")
    result.add(tries, harm, lost_unseen(true_stalls(truth), found, outcome))
    return result


# MARK: A sibling with the shared loop table


def sibling(writes):
    """A sibling process continuously writes to the table, beside a program that only stalls."""

    def attack(storm):
        stalls = storm.tries(60, 15)
        bare = storm.bare(storm.host("sleep", stalls))
        place = storm.place("table")
        truth, lines = place / "truth", place / "lines"
        script = place / "program"
        script.write_text(SIBLING.format(host=" ".join(storm.host("sleep", stalls, truth)), writes=writes))
        outcome = storm.run(storm.watched(lines, ["/usr/bin/python3", str(script)]), place)
        if writes == "waker":
            return compared(bare, outcome, truth, lines, stalls)
        # lagmond may stop watching a process whose slots are overwritten, but the host and lagmond must continue.
        result = Result()
        found, torn = lines_in(lines)
        crowd = f"{len(outcome.messages)} bytes of messages" if len(outcome.messages) > 32_000 else ""
        result.add(stalls, difference(bare, outcome) or (f"{torn} torn lines" if torn else "") or crowd)
        result.notes.append(f"{len(found)} stalls in records, {len(true_stalls(truth))} true stalls")
        return result

    return attack


# `waker`: creates endless posts, removes posts, and fills slots that no loop uses. `page`: writes to the whole table.
SIBLING = """
import mmap, os, random, subprocess, sys
path = os.environ.get("LAGMONITOR_LOOP_TABLE")
if path is None:
    sys.exit("no table to write into")
host = subprocess.Popen("{host}".split())
file = os.open(path, os.O_RDWR)
table = mmap.mmap(file, os.fstat(file).st_size)
random.seed(7)
while host.poll() is None:
    for _ in range(200):
        if "{writes}" == "waker":
            place = random.choice((128, 132, 136, 140, 2048 + 8 * 250 + 4))
            value = random.choice((b"\\0" * 4, b"\\1" + b"\\0" * 3, b"\\xff" * 4, random.randbytes(4)))
        else:
            place = random.randrange(0, random.choice((512, 4096, len(table))) - 8) & ~3
            value = random.choice((b"\\0" * 4, b"\\xff" * 4, random.randbytes(4), os.getpid().to_bytes(4, "little")))
        table[place:place + 4] = value
sys.exit(host.wait())
"""

# MARK: Clients of the HTTP service


def resident_mb(pid):
    with contextlib.suppress(OSError):
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) // 1024
    return 0


def served(storm, clients):
    """Runs a program that stalls, while the threads `clients(port, is_over, number)` use the HTTP service until the program exits."""
    stalls = storm.tries(100, 25)
    bare = storm.bare(storm.host("sleep", stalls))
    place = storm.place("served")
    truth, lines = place / "truth", place / "lines"
    is_over = threading.Event()
    begun = time.monotonic()
    with storm.start(storm.watched(lines, storm.host("sleep", stalls, truth), "--listen", "0"), place) as process:
        found = wait_until("the service", lambda: re.search(r"listening on http://127\.0\.0\.1:(\d+)", (place / "messages").read_text()))
        threads = [threading.Thread(target=clients, args=(int(found[1]), is_over, number)) for number in range(4)]
        for thread in threads:
            thread.start()
        wait_until("stalls", lambda: len(true_stalls(truth)) >= stalls // 2 or process.poll() is not None, 60)
        memory = resident_mb(process.pid)
        outcome = storm.wait(process, place)
        is_over.set()
        for thread in threads:
            thread.join()
    outcome.seconds = time.monotonic() - begun
    return compared(bare, outcome, truth, lines, stalls, f"lagmond used {memory} MB" if memory > 400 else "")


def connected(port):
    connection = socket.create_connection(("127.0.0.1", port), timeout=1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    return connection


def flood(port, is_over, number):
    """Sends oversized request lines, very many headers, unexpected bodies, and nothing at all."""
    choice = random.Random(number)
    kept = []
    while not is_over.is_set():
        with contextlib.suppress(OSError):
            connection = connected(port)
            kept.append(connection)
            connection.send(choice.choice((
                b"GET /" + b"a" * 2_000_000, b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 50_000, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
                b"POST /stalls HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n" + b"x" * 500_000, b"", b"\0" * 65_536,
            )))
        if len(kept) > 40:
            kept.pop(choice.randrange(len(kept))).close()
        time.sleep(0.002)
    for connection in kept:
        connection.close()


def subscribe(port, is_over, number):
    """Subscribes to `/stalls` without reading, and disconnects in the middle of a line."""
    choice = random.Random(number)
    kept = []
    while not is_over.is_set():
        with contextlib.suppress(OSError):
            connection = connected(port)
            connection.send(b"GET /stalls HTTP/1.1\r\nHost: x\r\n\r\n")
            kept.append(connection)
            if choice.random() < 0.3:
                connection.recv(choice.randrange(1, 200))
        if len(kept) > 25:
            victim = kept.pop(choice.randrange(len(kept)))
            # Closes with a reset.
            victim.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            victim.close()
        time.sleep(0.005)
    for connection in kept:
        connection.close()


# MARK: Names and links


def planted_link(storm):
    """In a world-writable folder, another user has put a link to a file of lagmond's user in place of the default output."""
    if os.geteuid() != 0:
        raise LeftOut("needs root, to create a link as another user")
    stalls = storm.tries(20, 8)
    bare = storm.bare(storm.host("sleep", stalls))
    result = Result()
    for target in ("secret", "missing"):
        place = storm.place("planted")
        beside = storm.place("target", 0o700)
        secret = beside / target
        if target == "secret":
            secret.write_text("kept\n")
            secret.chmod(0o600)
        for name in ("lagmond-stalls.jsonl", ".lagmond-stalls.jsonl.unfinished"):
            (place / name).symlink_to(secret)
            os.lchown(place / name, OTHER_USER, OTHER_USER)
        command = [storm.lagmond, "run", "--config", str(storm.config), "--", *storm.host("sleep", stalls)]
        outcome = storm.run(command, place)
        was_followed = secret.exists() if target == "missing" else secret.read_text() != "kept\n"
        result.add(1, difference(bare, outcome) or ("the link was followed" if was_followed else ""))
    return result


def hostile_names(storm):
    """A program whose name, folder and thread contain characters that clear the screen, set the terminal's title, and begin a new line."""
    stalls = storm.tries(20, 8)
    name = "a\x1b]0;x\x07\n\x9b2J\u202eb"
    place = storm.place("names")
    folder = place / name
    folder.mkdir()
    program = folder / name
    shutil.copy(storm.subject, program)
    words = storm.host("sleep", stalls, place / "truth")[1:]
    bare = storm.bare([str(program), *words[:-1]])
    lines = place / "lines"
    outcome = storm.run(storm.watched(lines, [str(program), *words]), place)
    written = lines.read_bytes() + outcome.messages.encode()
    control = re.compile(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]")
    # No control characters may be in the JSON or in the messages; JSON's escapes are ASCII.
    harm = f"control characters: {control.findall(written)[:5]}" if control.search(written) else ""
    return compared(bare, outcome, place / "truth", lines, stalls, harm)


# MARK: Missing system features


def without_proc(storm):
    """/proc is empty: the command runs unwatched, and lagmond reports that."""
    hide = ["unshare", "--mount", "--propagation", "private", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    if subprocess.run([*hide, "true"], capture_output=True).returncode != 0:
        raise LeftOut("no mount namespaces")
    stalls = storm.tries(20, 8)
    bare = storm.bare([*hide, *storm.host("sleep", stalls)])
    place = storm.place("no-proc")
    outcome = storm.run([*hide, *storm.watched(place / "lines", storm.host("sleep", stalls))], place)
    result = Result()
    result.add(stalls, difference(bare, outcome) or ("" if "not watched" in outcome.messages else "no message that the program is not watched"))
    return result


def init_process(storm):
    """lagmond is process 1: it reaps orphans, and forwards SIGTERM to the command."""
    inside = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if subprocess.run([*inside, "true"], capture_output=True).returncode != 0:
        raise LeftOut("no process namespaces")
    stalls = storm.tries(40, 10)
    place = storm.place("init")
    truth, lines = place / "truth", place / "lines"

    def with_orphans(command):
        # Like the entry point of a container that leaves children behind. At the end none of them may be a zombie.
        script = '(sleep 0.1 & sleep 0.2 & sleep 0.3 &); "$@"; sleep 1; grep -l "^State:.Z" /proc/[0-9]*/status || exit 0; exit 9'
        return ["sh", "-c", script, "sh", *command]

    bare = storm.bare(storm.host("sleep", stalls))
    outcome = storm.run([*inside, *storm.watched(lines, with_orphans(storm.host("sleep", stalls, truth)))], place)
    result = compared(bare, outcome, truth, lines, stalls)
    place = storm.place("asked")
    with storm.start([*inside, *storm.watched(place / "lines", ["sleep", "60"])], place) as process:
        child = wait_until("the program starts", lambda: pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split())[0]
        time.sleep(0.5)
        os.kill(int(child), signal.SIGTERM)
        try:
            storm.wait(process, place, 10)
            harm = ""
        except subprocess.TimeoutExpired:
            harm = "SIGTERM to process 1 does not end its command"
    result.add(1, harm)
    return result


# pidfd: pidfd_open, pidfd_send_signal and pidfd_getfd.
DENIED = {
    "memfd": [319], "pidfd": [434, 424, 438], "perf": [298], "vm-readv": [310], "all": [319, 434, 424, 438, 298, 310],
}


def denying(calls):
    """A seccomp filter like a container's: these system calls fail with EPERM in the process and its descendants."""
    load, equal, give = 0x20, 0x15, 0x06
    code = [(load, 0, 0, 0)]
    for call in calls:
        code += [(equal, 0, 1, call), (give, 0, 0, 0x0005_0000 | 1)]
    code.append((give, 0, 0, 0x7FFF_0000))
    raw = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *word) for word in code))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(raw)))
    library = ctypes.CDLL(None, use_errno=True)

    def apply():
        if library.prctl(38, 1, 0, 0, 0) != 0 or library.prctl(22, 2, program, 0, 0) != 0:
            os._exit(77)

    # Keeps the buffer alive: the program refers to it only by address.
    apply.code = raw
    return apply


def filtered(storm):
    if platform.machine() != "x86_64":
        raise LeftOut("the system call numbers are those of x86-64")
    stalls = storm.tries(30, 8)
    result = Result()
    for name, calls in DENIED.items():
        bare = storm.bare(storm.host("sleep", stalls), denying(calls))
        place = storm.place(f"filter-{name}")
        truth, lines = place / "truth", place / "lines"
        outcome = storm.run(storm.watched(lines, storm.host("sleep", stalls, truth)), place, denying(calls))
        part = compared(bare, outcome, truth, lines, stalls)
        # From outside, lagmond recognises a loop only some time after its first iterations.
        if "watched from outside" in outcome.messages:
            found = lines_in(lines)[0]
            known = [stall for stall in true_stalls(truth) if found and stall[0] > min(begin for begin, _ in found.values())]
            part.lost_unseen = lost_unseen(known, found, outcome)
            part.failed_tries = max(part.harmed, part.lost_unseen)
        result.tries += part.tries
        result.harmed += part.harmed
        result.lost_unseen += part.lost_unseen
        result.failed_tries += part.failed_tries
        result.notes += [f"{name}: {note}" for note in part.notes]
    return result


ATTACKS = {
    "hostile-table": sibling("waker"),
    "hostile-page": sibling("page"),
    "http-flood": lambda storm: served(storm, flood),
    "subscribers": lambda storm: served(storm, subscribe),
    "planted-link": planted_link,
    "hostile-names": hostile_names,
    "no-proc": without_proc,
    "pid-1": init_process,
    "seccomp": filtered,
}
