"""Programs with windows, on a display without a screen (Xvfb)."""
import http.client
import json
import os
import subprocess
import time

from harness import wait_until
from program import APPS, Program, Reloading
from python_programs import BLOCK
from stalls import BLOCK_SECONDS, Fifo, blocking_stalls


class Display:
    """An X server for one program: keys go to the program with the focus."""

    def __init__(self):
        reader, writer = os.pipe()
        self.process = subprocess.Popen(
            ["Xvfb", "-displayfd", str(writer), "-screen", "0", "1024x768x24", "-nolisten", "tcp"],
            pass_fds=[writer], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )
        os.close(writer)
        # Xvfb writes the number and the newline separately, and exits if nothing reads the newline.
        with open(reader) as numbers:
            self.name = f":{numbers.readline().strip()}"

    def close(self):
        self.process.terminate()
        self.process.wait()


class Windowed(Program):
    needs = ("Xvfb", "xdotool", "/usr/bin/python3")
    title = ""

    def __init__(self, home, port):
        super().__init__(home, port)
        self.fifo = home / "fifo"
        os.mkfifo(self.fifo)
        self.display = Display()

    def environment(self):
        return {"DISPLAY": self.display.name, "FIFO": str(self.fifo), "PYTHONPATH": str(APPS), "PYTHONDONTWRITEBYTECODE": "1",
                "XDG_RUNTIME_DIR": str(self.home), "NO_AT_BRIDGE": "1", "GDK_BACKEND": "x11", "QT_QPA_PLATFORM": "xcb", "HOME": str(self.home)}

    def clean_up(self):
        self.display.close()

    def is_ready(self, session):
        return "ready" in session.output()

    def xdotool(self, *words):
        return subprocess.run(
            ["xdotool", *words], env={**os.environ, "DISPLAY": self.display.name}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ).stdout.strip()

    def window(self):
        return wait_until(f"the window {self.title}", lambda: self.xdotool("search", "--name", f"^{self.title}$"), 10).split()[0]

    def focus(self):
        """Gives the window the keyboard focus, because no window manager does."""
        window = self.window()
        self.xdotool("windowfocus", "--sync", window)
        wait_until("the focus", lambda: self.xdotool("getwindowfocus", "-f") == window, 5)

    def done(self, session, key):
        """The times at which the program began and ended its work for each press of this key."""
        return [tuple(map(float, line.split()[2:])) for line in session.output().splitlines() if line.startswith(f"done {key} ")]

    def press(self, session, key, meanwhile=lambda: None):
        before = len(self.done(session, key))
        self.xdotool("key", key)
        meanwhile()
        return wait_until(f"the key {key}", lambda: self.done(session, key)[before:], 10)[0]

    def stalls(self):
        self.focus()
        return blocking_stalls(lambda path: lambda session: self.blocking_press(session, path), {"/compute": BLOCK}, BLOCK)

    def blocking_press(self, session, path):
        return self.press(session, path[1], self.release if path == "/read" else lambda: None)

    def begin_hang(self, session, seconds):
        self.focus()
        self.xdotool("key", "h")

    def visit(self, session):
        self.xdotool("key", "x")

    def release(self):
        time.sleep(BLOCK_SECONDS)
        wait_until("the pipe is opened", Fifo(self.fifo).release, 5)

    def converse(self, session):
        self.focus()
        for key in "xyz":
            self.press(session, key)
        return ""

    def load(self, session, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.xdotool("key", "--delay", "5", *"k" * 50)
            time.sleep(0.1)


class GTK(Windowed):
    name, is_known, title = "gtk3", True, "programs-gtk"
    needs = ("/usr/lib/x86_64-linux-gnu/girepository-1.0/Gtk-3.0.typelib",)

    def command(self):
        return ["/usr/bin/python3", APPS / "gtk_window.py"]


class Qt(Windowed):
    name, is_known, title = "qt5", True, "programs-qt"
    no_action = "a thread of Qt reads the display's events and wakes the loop by an eventfd, as GLib does by itself: whether work is pending is unknown"
    needs = ("/usr/lib/python3/dist-packages/PyQt5",)

    def command(self):
        return ["/usr/bin/python3", APPS / "qt_window.py"]


class QtWithoutGLib(Qt):
    name, is_known = "qt5-no-glib", True

    def environment(self):
        return {**super().environment(), "QT_NO_GLIB": "1"}


class Chromium(Windowed):
    name = "chromium"
    # A hundred threads, of which some wake 40 times a second in all.
    idle_limit = 0.012
    needs = ("chromium",)
    output_is_same = False
    no_stalls = "a page's script blocks a thread that waits in a condition variable, which is not watched"

    def command(self):
        self.page = self.write("page.html", """<title>programs-page</title><p id=n>0</p><script>
            let n = 0; (function turn() { document.getElementById("n").textContent = ++n; requestAnimationFrame(turn); })();</script>""")
        return ["chromium", "--no-sandbox", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={self.home}/profile",
                f"--remote-debugging-port={self.port}", "--password-store=basic", "--disable-background-networking", "--disable-component-update",
                "--disable-sync", "about:blank"]

    def stalls(self):
        return []

    def is_ready(self, session):
        try:
            return b"about:blank" in session.get("/json/list", timeout=1)
        except (OSError, http.client.HTTPException):
            return False

    def converse(self, session):
        return "".join(sorted(page["type"] for page in json.loads(session.get("/json/list")) if page["type"] == "page"))

    def load(self, session, seconds):
        # The page draws, while requests query the browser for its pages.
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("PUT", f"/json/new?file://{self.page}")
        target = json.loads(connection.getresponse().read())["id"]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            session.get("/json/list")
            time.sleep(0.02)
        session.get(f"/json/close/{target}")


class Openbox(Reloading, Windowed):
    """A window manager that reloads its settings when another instance requests it."""

    name, is_known, way_seconds = "openbox", True, 0.5
    # Its main function reads the settings.
    culprit = "main"
    needs = ("openbox",)

    def command(self):
        self.reread = self.write("rc.xml", '<openbox_config xmlns="http://openbox.org/3.4/rc"></openbox_config>\n')
        return ["openbox", "--sm-disable", "--config-file", self.reread]

    def is_ready(self, session):
        return self.is_answering()

    def is_answering(self):
        # Only this setting names the desktops.
        return self.xdotool("get_num_desktops") != ""

    def request_reload(self, session):
        subprocess.run(["openbox", "--reconfigure"], env={**os.environ, "DISPLAY": self.display.name}, check=True)

    def answers(self, session):
        return self.is_answering()

    def end(self, session):
        # SIGTERM ends it in either of two ways.
        subprocess.run(["openbox", "--exit"], env={**os.environ, "DISPLAY": self.display.name}, check=False)

    def converse(self, session):
        for number in range(10):
            self.xdotool("set_desktop", str(number % 2))
        return ""

    def load(self, session, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for number in range(20):
                self.xdotool("set_desktop", str(number % 2))
            time.sleep(0.1)


PROGRAMS = (Openbox, GTK, Qt, QtWithoutGLib, Chromium)
