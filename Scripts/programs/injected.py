"""Programs whose loop no client request can block: a preloaded library (apps/inject.c) blocks it in the functions that they call for a connection."""
import contextlib
import mmap
import os
import socket
import struct
import subprocess
import time

from harness import Failure
from program import APPS, Program, in_background
from stalls import BLOCK_SECONDS, Stall

# apps/inject.c: injected_page
PAGE = struct.Struct("=6I2q")
KINDS = (
    ("sleeps", "injected_sleep", ("syscall",)),
    ("computes", "injected_compute", ("cpu", "runqueue")),
    ("receives", "injected_receive", ("syscall",)),
    ("polls", "injected_poll", ("syscall",)),
    ("waits for a condition", "injected_condition", ("lock", "syscall")),
    ("waits on an instance of its own", "injected_epoll", ("syscall",)),
)
TAKEN_SECONDS = 5
# The kind of a hang: it blocks in a call in which pools wait for work as well.
HANG_KIND = 3


class Injected(Program):
    needs = ("cc",)
    greeting = b"GET / HTTP/1.0\r\n\r\n"
    # Whether any thread may be blocked; otherwise only the main thread.
    any_thread = False
    library = None

    @classmethod
    def prepare(cls, folder):
        Injected.library = folder / "inject.so"
        if not Injected.library.exists():
            compiler = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-fno-omit-frame-pointer", "-g"]
            subprocess.run([*compiler, "-o", Injected.library, APPS / "inject.c", "-ldl"], check=True)

    def __init__(self, home, port):
        super().__init__(home, port)
        path = home / "inject.page"
        path.write_bytes(bytes(4096))
        path.chmod(0o666)
        with open(path, "r+b") as file:
            self.page = mmap.mmap(file.fileno(), 4096)

    def environment(self):
        return {"LD_PRELOAD": str(self.library), "LAG_INJECT": str(self.home / "inject.page")}

    def poke(self):
        """Makes the loop iterate, by a connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=2) as connection:
            connection.settimeout(0.3)
            try:
                if self.greeting:
                    connection.sendall(self.greeting)
                connection.recv(4096)
            except OSError:
                pass

    def poke_quietly(self):
        with contextlib.suppress(OSError):
            self.poke()

    def converse(self, session):
        # Makes sure that the program is running its loop before it is ended.
        self.poke_quietly()
        time.sleep(0.5)
        return ""

    def stalls(self):
        return [
            Stall(f"a handler that {does}", lambda session, kind=kind: self.block(kind), causes, frame, frame, loop=".*")
            for kind, (does, frame, causes) in enumerate(KINDS, 1)
        ]

    def request_block(self, kind, seconds):
        PAGE.pack_into(self.page, 0, 0, int(seconds * 1000), self.any_thread, 0, 0, 0, 0, 0)
        struct.pack_into("=I", self.page, 0, kind)
        asked = time.monotonic()
        while struct.unpack_from("=I", self.page, 0)[0]:
            if time.monotonic() - asked > TAKEN_SECONDS:
                struct.pack_into("=I", self.page, 0, 0)
                raise Failure("no thread executed the stall")
            in_background(self.poke)
            time.sleep(0.1)

    def begin_hang(self, session, seconds):
        self.request_block(HANG_KIND, seconds)

    def visit(self, session):
        self.poke()

    def block(self, kind):
        asked = time.monotonic()
        self.request_block(kind, BLOCK_SECONDS)
        while not PAGE.unpack_from(self.page, 0)[3]:
            if time.monotonic() - asked > TAKEN_SECONDS + 5:
                raise Failure("the stall did not end")
            time.sleep(0.01)
        begun, ended = PAGE.unpack_from(self.page, 0)[6:8]
        return begun / 1e9, ended / 1e9

    def load(self, session, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.poke_quietly()
            time.sleep(0.01)


class UnixSocket(Injected):
    """A program with a Unix socket in its folder."""

    socket_name = "ctl"
    greeting = b"hello\n"

    @property
    def path(self):
        return self.home / self.socket_name

    def is_ready(self, session):
        return self.path.exists()

    def poke(self):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(0.3)
            connection.connect(str(self.path))
            connection.sendall(self.greeting)
            try:
                connection.recv(4096)
            except OSError:
                pass


class UDP(Injected):
    def is_ready(self, session):
        return f"0100007F:{self.port:04X}" in open("/proc/net/udp").read() or f"00000000:{self.port:04X}" in open("/proc/net/udp").read()

    def poke(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
            connection.settimeout(0.2)
            connection.connect(("127.0.0.1", self.port))
            connection.sendall(self.greeting)
            try:
                connection.recv(4096)
            except OSError:
                pass
