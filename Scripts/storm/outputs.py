"""Attacks on the outputs: the program must not be affected, and lines that do not arrive must be counted.

Each fault begins after a third of the stalls and ends after two thirds."""
import os
import pathlib
import shutil
import subprocess
import threading
import time

from attack import LeftOut, Result, as_user, difference, parsed, stalls_in, true_stalls, unmatched
from collectors import Collector, Journal, StreamReader
from harness import wait_until

OTHER_USER = 65534


def mount(*words):
    if os.environ.get("STORM_MOUNTS") != "1":
        raise LeftOut("no separate mount namespace")
    done = subprocess.run(["mount", *map(str, words)], capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr.strip()


def under_fault(storm, place, output, begin, end, arrived, options=(), user=None, meanwhile=lambda process: None, settle=1.0):
    """Runs a stalling program whose lines go to `output`.

    - begin, end: cause the fault, and end it.
    - arrived: called at the end; returns the stalls that arrived, as a number or as attack.stalls_in does, and the number of torn lines."""
    stalls = storm.tries(120, 18)
    before = as_user(user) if user else None
    bare = storm.bare(storm.host("sleep", stalls, idle_ms=40), before)
    truth = storm.place("truth") / "truth"
    command = storm.watched(output, storm.host("sleep", stalls, truth, idle_ms=40), *options)
    begun = time.monotonic()
    with storm.start(command, place, before) as process:
        wait_until("stalls", lambda: len(true_stalls(truth)) >= stalls // 3 or process.poll() is not None, 60)
        begin()
        wait_until("stalls", lambda: len(true_stalls(truth)) >= stalls * 2 // 3 or process.poll() is not None, 60)
        meanwhile(process)
        end()
        outcome = storm.wait(process, place)
    outcome.seconds = time.monotonic() - begun
    time.sleep(settle)
    found, torn = arrived()
    missing = unmatched(true_stalls(truth), found) if isinstance(found, dict) else len(true_stalls(truth)) - found
    counted = outcome.without_line()
    result = Result()
    harm = difference(bare, outcome) or (f"{torn} torn lines" if torn else "")
    if outcome.count("stalls") == 0 and not harm:
        harm = f"nothing was watched: {outcome.messages[-300:]}"
    note = f"{missing} of {stalls} stalls did not arrive, {counted} were counted" if missing > 0 else ""
    result.add(stalls, harm, max(0, missing - counted), note)
    return result


def lines_of(*paths):
    def arrived():
        lines, torn = parsed(b"".join(path.read_bytes() for path in paths if path.exists()))
        return stalls_in(lines), torn

    return arrived


# MARK: Files


def full_tmpfs(storm):
    place = storm.place("full")
    disk = place / "disk"
    disk.mkdir()
    if problem := mount("-t", "tmpfs", "-o", "size=256k,mode=777", "storm", disk):
        raise LeftOut(problem)

    def fill():
        try:
            with open(disk / "filler", "wb") as filler:
                while filler.write(b"x" * 4096):
                    filler.flush()
        except OSError:
            pass

    return under_fault(storm, place, disk / "lines", fill, lambda: (disk / "filler").unlink(), lines_of(disk / "lines"))


def removed_folder(storm):
    place = storm.place("removed")
    folder = place / "folder"
    folder.mkdir()
    kept = []

    def remove():
        # Keeps the earlier lines, which the attack removes and the monitor did not lose.
        kept.append((folder / "lines").read_bytes())
        shutil.rmtree(folder)

    def arrived():
        lines, torn = parsed(kept[0] + ((folder / "lines").read_bytes() if (folder / "lines").exists() else b""))
        return stalls_in(lines), torn

    return under_fault(storm, place, folder / "lines", remove, folder.mkdir, arrived)


def covered_mount(storm):
    """A read-only file system is mounted over the folder, so that the path leads there."""
    place = storm.place("covered")
    disk = place / "disk"
    disk.mkdir()

    def cover():
        if problem := mount("-t", "tmpfs", "-o", "ro", "storm", disk):
            raise LeftOut(problem)

    def uncover():
        subprocess.run(["umount", str(disk)], check=True)

    if problem := mount("-t", "tmpfs", "-o", "size=8m,mode=777", "storm", disk):
        raise LeftOut(problem)
    return under_fault(storm, place, disk / "lines", cover, uncover, lines_of(disk / "lines"))


def read_only_mount(storm):
    """The file system is remounted read-only for the first half of the stalls. The kernel allows this only while no file there is open for writing: before
    the first line, when lagmond creates the default output."""
    stalls = storm.tries(90, 18)
    place = storm.place("read-only")
    disk, truth = place / "disk", place / "truth"
    disk.mkdir()
    if problem := mount("-t", "tmpfs", "-o", "size=8m,mode=700", "storm", disk):
        raise LeftOut(problem)

    def late(command):
        return ["sh", "-c", 'sleep 2; exec "$@"', "sh", *command]

    bare = storm.bare(late(storm.host("sleep", stalls)))
    command = [storm.lagmond, "run", "--config", str(storm.config), "--", *late(storm.host("sleep", stalls, truth))]
    begun = time.monotonic()
    with storm.start(["sh", "-c", f'cd {disk}; exec "$@"', "sh", *command], place) as process:
        time.sleep(1)
        if problem := mount("-o", "remount,ro", disk):
            raise LeftOut(problem)
        wait_until("stalls", lambda: len(true_stalls(truth)) >= stalls // 2 or process.poll() is not None, 60)
        if problem := mount("-o", "remount,rw", disk):
            raise LeftOut(problem)
        outcome = storm.wait(process, place)
    outcome.seconds = time.monotonic() - begun
    found, torn = lines_of(disk / "lagmond-stalls.jsonl")()
    missing = unmatched(true_stalls(truth), found)
    result = Result()
    harm = difference(bare, outcome) or (f"{torn} torn lines" if torn else "") or ("" if found else "no line after the file system became writable again")
    result.add(stalls, harm, max(0, missing - outcome.without_line()), f"{missing} of {stalls} stalls did not arrive")
    return result


def lost_permission(storm):
    if os.geteuid() != 0:
        raise LeftOut("needs root, to run as another user")
    place = storm.place("permission")
    folder = place / "folder"
    folder.mkdir()
    folder.chmod(0o777)

    def forbid():
        # The file is rotated away: the next line needs a new file, which cannot be created.
        (folder / "lines").rename(folder / "lines.1")
        (folder / "lines.1").chmod(0o400)
        folder.chmod(0o500)

    return under_fault(
        storm, place, folder / "lines", forbid, lambda: folder.chmod(0o777), lines_of(folder / "lines.1", folder / "lines"), user=OTHER_USER
    )


def fifo(storm):
    """A reader pauses and then closes the FIFO, and another one opens it."""
    place = storm.place("fifo")
    path = place / "fifo"
    os.mkfifo(path)
    data, reading = bytearray(), threading.Event()
    reader = [os.open(path, os.O_RDONLY | os.O_NONBLOCK)]
    over = threading.Event()

    def read():
        while not over.is_set():
            if reading.is_set():
                try:
                    data.extend(os.read(reader[0], 65536))
                except BlockingIOError:
                    pass
            time.sleep(0.01)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    reading.set()

    def begin():
        reading.clear()

    def end():
        # The old reader empties the pipe before it closes it.
        time.sleep(0.1)
        reading.set()
        time.sleep(0.3)
        fresh = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        old, reader[0] = reader[0], fresh
        os.close(old)

    def arrived():
        over.set()
        thread.join()
        lines, torn = parsed(bytes(data))
        return stalls_in(lines), torn

    return under_fault(storm, place, path, begin, end, arrived)


# MARK: Streams and receivers


def stream(storm, begin, end):
    place = storm.place("stream")
    reader = StreamReader()

    def arrived():
        lines, torn = parsed(reader.content())
        return stalls_in(lines), torn

    try:
        return under_fault(storm, place, reader.address, lambda: begin(reader), lambda: end(reader), arrived, settle=3)
    finally:
        reader.close()


def slow_stream(storm):
    return stream(storm, lambda reader: reader.is_slow.set(), lambda reader: reader.is_slow.clear())


def half_closed_stream(storm):
    return stream(storm, lambda reader: reader.half_closes.set(), lambda reader: reader.half_closes.set())


def receiver(fault):
    def attack(storm):
        place = storm.place(f"otlp-{fault}")
        collector = Collector()
        most = [0]

        def change(answer):
            collector.answer = answer

        def measure(process):
            most[0] = resident_kilobytes(process.pid)

        try:
            result = under_fault(
                storm, place, collector.address, lambda: change(fault), lambda: change(200), lambda: (len(collector.stalls()), 0), meanwhile=measure
            )
        finally:
            collector.close()
        if most[0] > 500_000:
            result.add(0, f"lagmond uses {most[0]} kB of memory")
        return result

    return attack


def resident_kilobytes(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def spool(storm):
    """The receiver is unavailable until the end: the next run sends the lines that were kept on disk, in order, marked as late."""
    if "--spool" not in subprocess.run([storm.lagmond, "run", "--help"], capture_output=True, text=True).stdout:
        raise LeftOut("this lagmond has no --spool")
    collector = Collector()
    folder = storm.place("spool")
    options = ("--spool", str(folder))

    def away():
        collector.answer = 503

    try:
        result = under_fault(
            storm, storm.place("otlp"), collector.address, away, lambda: None, lambda: (len(collector.stalls()), 0), options=options
        )
        kept = sum(path.stat().st_size > 4096 for path in folder.iterdir())
        before = len(collector.stalls())
        collector.answer = 200
        place = storm.place("next")
        storm.run(storm.watched(collector.address, storm.host("sleep", 20), *options), place)
        late = [record for record in collector.records() if any(item["key"] == "lagmonitor.late" for item in record["attributes"])]
        times = [int(record["timeUnixNano"]) for record in late]
        if not kept or not late or times != sorted(times):
            result.add(1, lost=1, note=f"{kept} files kept, {len(late)} late lines, {before} before, in order: {times == sorted(times)}")
        return result
    finally:
        collector.close()


# MARK: The journal


class ReadJournal:
    """A journal that a thread reads, like journald, while `reading` is set; its queue holds ten entries by default."""

    def __init__(self, path):
        self.path, self.journal = path, Journal(path)
        self.over, self.reading, self.turn = threading.Event(), threading.Event(), threading.Lock()
        self.reading.set()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        while not self.over.is_set():
            with self.turn:
                if self.reading.is_set():
                    self.journal.read()
            time.sleep(0.01)

    def remove(self):
        with self.turn:
            self.path.unlink()
            self.journal.shut()
            self.reading.clear()

    def restore(self):
        with self.turn:
            fresh = Journal(self.path)
            fresh.stalls = self.journal.stalls
            self.journal = fresh
            self.reading.set()

    def arrived(self):
        self.over.set()
        self.thread.join()
        self.journal.read()
        return len(self.journal.stalls), 0


def absent_journal(storm):
    place = storm.place("journal")
    journal = ReadJournal(place / "socket")
    return under_fault(storm, place, f"journald:{journal.path}", journal.remove, journal.restore, journal.arrived)


def slow_journal(storm):
    place = storm.place("journal")
    journal = ReadJournal(place / "socket")
    return under_fault(storm, place, f"journald:{journal.path}", journal.reading.clear, journal.reading.set, journal.arrived)


def full_journal(storm):
    """The journal is no longer read until the end: lagmond discards the remaining entries then, and counts them."""
    place = storm.place("journal")
    journal = ReadJournal(place / "socket")
    return under_fault(storm, place, f"journald:{journal.path}", journal.reading.clear, lambda: None, journal.arrived)


ATTACKS = {
    "tmpfs-full": full_tmpfs,
    "folder-removed": removed_folder,
    "mount-read-only": read_only_mount,
    "mount-covered": covered_mount,
    "permission-lost": lost_permission,
    "fifo": fifo,
    "tcp-slow": slow_stream,
    "tcp-half-closed": half_closed_stream,
    "otlp-500": receiver(500),
    "otlp-503": receiver(503),
    "otlp-hang": receiver("hang"),
    "otlp-redirect": receiver("redirect"),
    "otlp-huge": receiver("huge"),
    "otlp-spool": spool,
    "journald-absent": absent_journal,
    "journald-slow": slow_journal,
    "journald-full": full_journal,
}
