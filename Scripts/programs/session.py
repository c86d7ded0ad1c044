"""A running program of Scripts/programs: bare, under `lagmond run`, or with `lagmond attach` beside it."""
import fcntl
import http.client
import json
import os
import pathlib
import pwd
import re
import signal
import subprocess
import termios
import threading

from harness import Failure, Server, Watch, clock_of, descendants, free_port, on_processors, wait_until


class FullWatch(Watch):
    """lagmond as users run it, with a hang action that must not trigger, and without rate limits, which would hide records."""

    HANG_SECONDS = 5

    def __init__(self, lagmond, way, folder):
        super().__init__(lagmond, way)
        self.health_port = free_port()
        self.settings = folder / f"lagmond-{self.health_port}.json"
        self.settings.write_text(json.dumps({"monitor": {"limit_burst": 0, "limit_all_burst": 0}}))

    def command(self, lines, rest):
        action = ["--on-hang", "restart", "--on-hang-after", str(self.HANG_SECONDS)] if self.way == "run" else []
        return [
            self.lagmond, self.way, "--config", str(self.settings), "--listen", str(self.health_port), "--output", str(lines), *action, *rest,
        ]


class Session(Server):
    def __init__(self, program, watch=None):
        command = [str(word) for word in program.command()]
        super().__init__(program.home, command, program.port, watch)
        self.program, self.watch = program, watch
        self.name = program.name
        if program.user:
            owner = pwd.getpwnam(program.user)
            for path in [program.home, *program.home.rglob("*")]:
                os.chown(path, owner.pw_uid, owner.pw_gid, follow_symlinks=False)
            # lagmond also runs as this user: it should not be root to watch another user's program.
            self.command = ["setpriv", f"--reuid={program.user}", f"--regid={owner.pw_gid}", "--clear-groups", *self.command]
        self.out = program.home / "stdout"
        self.terminal, self.screen = None, b""
        self.left_behind = []

    def popen(self, command):
        environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("LAGMONITOR_", "PROGRAMS_", "PYTHONPATH"))},
            **self.program.environment(),
        }
        is_program = command is self.command
        with on_processors(self.processors):
            if is_program and self.program.needs_terminal:
                return self.popen_on_terminal(command, environment)
            with open(self.out if is_program else os.devnull, "ab") as out:
                return subprocess.Popen(
                    command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=self.log,
                    # Some servers (apache) end their whole process group, which must not include this process.
                    start_new_session=True,
                )

    def popen_on_terminal(self, command, environment):
        self.terminal, inner = os.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, b"\x18\0\x50\0\0\0\0\0")

        def lead():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        process = subprocess.Popen(
            command, cwd=self.folder, env={**environment, "TERM": "xterm"}, stdin=inner, stdout=inner, stderr=inner, preexec_fn=lead
        )
        os.close(inner)
        self.reader = threading.Thread(target=self.read_terminal, daemon=True)
        self.reader.start()
        return process

    def read_terminal(self):
        try:
            while received := os.read(self.terminal, 65536):
                self.screen += received
        except OSError:
            # The error of a terminal after its last process has exited.
            pass

    def type(self, text):
        os.write(self.terminal, text.encode())

    def expect(self, pattern, since=0, seconds=10):
        """Waits until the terminal shows the pattern, and returns the text."""
        wait_until(f"{self.name} shows {pattern}", lambda: re.search(pattern.encode(), self.screen[since:]), seconds)
        return self.screen[since:].decode(errors="replace")

    def accepts(self):
        return Server.listens(self)

    def listens(self):
        """Required by the base class: whether the program is ready."""
        if self.process.poll() is not None:
            raise Failure(f"{self.name} exited with {self.process.returncode}: {self.errors()[-400:]}")
        return self.program.is_ready(self)

    def errors(self):
        return pathlib.Path(self.log.name).read_text(errors="replace")

    def output(self):
        return self.screen.decode(errors="replace") if self.terminal else self.out.read_text(errors="replace")

    def finish(self):
        """Ends the program as its users do, and returns its status."""
        self.below = descendants(self.process.pid)
        self.program.end(self)
        try:
            status = self.process.wait(timeout=20)
            if self.terminal:
                # Waits for the rest of the output. The reader does not end while a remaining process has the terminal open.
                self.reader.join(timeout=2)
            return status
        except subprocess.TimeoutExpired:
            raise Failure(f"{self.name} does not exit within 20 s") from None

    def __exit__(self, *details):
        below = {pid: start_of(pid) for pid in [*getattr(self, "below", []), *descendants(self.process.pid)]}
        super().__exit__(*details)
        self.program.clean_up()
        for pid, start in below.items():
            # A daemon that left the process tree, or a child that its parent did not end.
            if start and start_of(pid) == start:
                self.left_behind.append(pid)
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        if self.terminal:
            os.close(self.terminal)

    def lagmond_seconds(self):
        """The CPU time of lagmond so far."""
        watcher = self.attached or (self.process if self.is_wrapped else None)
        return clock_of(watcher.pid) if watcher else 0.0

    def actions(self):
        """lagmond's messages about actions on the program."""
        return re.findall(r"lagmond: .*(?:has been hanging in|restarting it).*", self.said_by_lagmond())

    def said_by_lagmond(self):
        text = self.errors() if not self.terminal else self.errors() + self.output()
        return "\n".join(line for line in text.replace("\r", "").splitlines() if line.startswith("lagmond: "))

    def loops_page(self):
        """lagmond's health page; None if it is not available yet."""
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.watch.health_port, timeout=3)
            connection.request("GET", "/healthz")
            return json.loads(connection.getresponse().read())
        except (OSError, ValueError):
            return None

    def processes(self):
        """How many processes the program has."""
        return len(descendants(self.process.pid)) + (0 if self.is_wrapped else 1)

    def loops(self):
        """(process, loop) of each loop that lagmond currently watches, from its health page."""
        return [
            (process["process_name"], loop["loop"])
            for target in (self.loops_page() or {}).get("targets", [])
            for process in target["processes"]
            for loop in process["loops"]
        ]


def start_of(pid):
    """The start time of a process, which distinguishes it from a later process with the same ID; None if it has exited."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return None if fields[0] == "Z" else fields[19]
    except OSError:
        return None
