"""Programs on a terminal: vim, emacs, mc, bash, tmux."""
import os
import subprocess
import time

from harness import wait_until
from program import Program, in_background
from stalls import SLEEP_CALL, Miss, Stall


class Terminal(Program):
    needs_terminal = True
    prompt = r"\$ "

    def is_ready(self, session):
        return self.prompt.encode() in session.screen.replace(b"\\", b"")

    def typed(self, session, text, pattern):
        since = len(session.screen)
        session.type(text)
        session.expect(pattern, since)

    def keep_typing(self, session, seconds, text):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            session.type(text)
            time.sleep(0.05)


class Bash(Terminal):
    name, is_known = "bash", True
    no_stalls = "it reads one terminal, and waits for the programs that it runs"

    def environment(self):
        return {"PS1": "ready> ", "HISTFILE": "/dev/null"}

    prompt = "ready> "

    def command(self):
        return ["bash", "--norc", "--noprofile", "-i"]

    def converse(self, session):
        self.typed(session, "echo $((20+3))x\r", "23x")
        self.typed(session, "sleep 0.6; echo slept-$((1))\r", "slept-1")
        return "23x slept-1"

    def load(self, session, seconds):
        self.keep_typing(session, seconds, "true\r")

    def end(self, session):
        session.type("\rexit 7\r")


class Vim(Terminal):
    name = "vim"
    misses = {"a script that computes": Miss("it reads the typed characters meanwhile, to look for ^C, so nothing waits")}
    no_action = "it reads the typed characters while a script sleeps, to look for ^C, so nothing waits"
    needs = ("vim",)
    output_is_same = False

    def is_ready(self, session):
        return b"[New]" in session.screen or b"text" in session.screen

    def command(self):
        return ["vim", "-u", "NONE", "-i", "NONE", "-n", "text"]

    def converse(self, session):
        self.typed(session, "ihello\x1b", "hello")
        self.typed(session, ":w! out\r", "written")
        return (self.home / "out").read_text()[:5]

    def stalls(self):
        return [
            Stall("a script that sleeps", lambda session: self.run(session, "sleep 600m"), ("syscall",), SLEEP_CALL),
            Stall("a script that computes", lambda session: self.run(session, "let s=reltime()|while reltimefloat(reltime(s))<0.6|endwhile"), ("cpu",)),
        ]

    def begin_hang(self, session, seconds):
        session.type(f":sleep {seconds}\r")
        time.sleep(0.05)

    def visit(self, session):
        session.type("l")

    def run(self, session, script):
        self.count += 1
        # The file exists when the script has ended.
        done = self.home / f"done{self.count}"
        session.type(f":{script}|call writefile([], '{done}')\r")
        # The user who started the script waits for it, but a later keystroke is delayed, which is a stall. The pause separates it from the command: vim
        # would read both at once.
        time.sleep(0.05)
        session.type("l")
        wait_until("vim's script", done.exists, 10)

    count = 0

    def load(self, session, seconds):
        self.keep_typing(session, seconds, "oa line of text\x1b")

    def end(self, session):
        session.type("\x1b:cquit 7\r")


class MidnightCommander(Terminal):
    name, is_known = "mc", True
    needs = ("mc",)
    output_is_same = False
    no_stalls = "it runs its user's commands, and only the user waits for it"

    def is_ready(self, session):
        return b"Quit" in session.screen

    def environment(self):
        return {"HOME": str(self.home), "SHELL": "/bin/bash"}

    def command(self):
        return ["mc", "--nocolor"]

    def converse(self, session):
        # A dialog waits for the terminal, for longer than the time after which lagmond acts on a hang.
        self.typed(session, "\x1b7", "Create a new")
        time.sleep(6)
        session.type("made\r")
        wait_until("mc makes a folder", (self.home / "made").exists, 10)
        return "made"

    def load(self, session, seconds):
        self.keep_typing(session, seconds, "\x1b[B\x1b[A")

    def end(self, session):
        session.type("\x1b0")


class Emacs(Terminal):
    name = "emacs"
    reads = Miss("it reads typed characters meanwhile (SIGIO), to look for ^G, so nothing waits")
    misses = {"a function that waits for a child": reads, "a function that computes": reads}
    no_action = "its signal handler reads the typed characters, so nothing waits"
    needs = ("emacs",)
    output_is_same = False

    def is_ready(self, session):
        return b"*scratch*" in session.screen

    def command(self):
        return ["emacs", "-nw", "-Q"]

    def stalls(self):
        return [
            Stall("a function that waits for a child", lambda session: self.run(session, '(call-process "sleep" nil nil nil "0.6")'), ("syscall",)),
            Stall("a function that computes", lambda session: self.run(session, "(let ((end (+ (float-time) 0.6))) (while (< (float-time) end)))"), ("cpu",)),
        ]

    def begin_hang(self, session, seconds):
        in_background(self.run, session, f'(call-process "sleep" nil nil nil "{seconds}")')
        time.sleep(0.05)

    def visit(self, session):
        session.type("l")

    def converse(self, session):
        return self.run(session, "(+ 20 3)")

    count = 0

    def run(self, session, text):
        """Evaluates the expression, and returns its value."""
        self.count += 1
        # The file exists when the evaluation has ended.
        done = self.home / f"done{self.count}"
        session.type(f'\x1b:(let ((it {text})) (write-region (format "%s" it) nil "{done}" nil 1))\r')
        return wait_until("emacs's answer", lambda: done.exists() and done.read_text(), 10)

    def load(self, session, seconds):
        self.keep_typing(session, seconds, "a line of text\r")

    def end(self, session):
        session.type("\x1b:(kill-emacs 7)\r")


class Tmux(Terminal):
    name = "tmux"
    output_is_same = False
    needs = ("tmux",)
    no_stalls = "its clients' requests are short, and its panes run other processes"

    def environment(self):
        return {"PS1": "ready> ", "TMUX": "", "TMUX_TMPDIR": str(self.home), "SHELL": "/bin/sh", "ENV": ""}

    prompt = "ready> "

    def command(self):
        return ["tmux", "-f", "/dev/null", "new-session", "-s", "one", "sh"]

    def control(self, *words):
        return subprocess.run(
            ["tmux", *words], env={**os.environ, "TMUX_TMPDIR": str(self.home), "TMUX": ""}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ).stdout

    def converse(self, session):
        self.control("send-keys", "-t", "one", "echo $((20+3))x", "Enter")
        wait_until("tmux shows it", lambda: "23x" in self.control("capture-pane", "-p", "-t", "one"), 5)
        return self.control("list-sessions", "-F", "#{session_name} #{session_windows}")

    def load(self, session, seconds):
        self.control("send-keys", "-t", "one", f"timeout {seconds:g} seq 1000000000", "Enter")
        time.sleep(seconds)

    def end(self, session):
        self.control("kill-server")


PROGRAMS = (Bash, Vim, Emacs, MidnightCommander, Tmux)
