"""Servers in JavaScript, Perl, Tcl, PHP, Ruby and Lua."""
import pathlib
import socket
import subprocess
import sys
import time

from harness import receive_until
from program import APPS, HTTPProgram, HandlersOfOurs, Program, in_background
from stalls import CHILD_CALL, Miss, Stall, blocking_stalls

TCL_REST = "its main thread rests in a condition variable while a second thread calls select; such a rest is not watched"


class Node(HandlersOfOurs):
    name, is_known = "node", True
    needs = ("node",)

    def command(self):
        return ["node", APPS / "server.js", self.port, self.fifo]

    def stalls(self):
        # Code that V8 compiled has no symbols, but its callers in the loop have. Its sleep waits on a condition variable.
        stalls = blocking_stalls(self.request, {"/sleep": "uv_run", "/compute": "uv_run", "/read": "uv_fs_(open|read)"}, r"<anonymous> \(server\.js\)")
        stalls[0].cause = ("syscall", "lock")
        return stalls


class Mojolicious(HandlersOfOurs):
    name = "mojolicious"
    needs = ("/usr/share/perl5/Mojolicious.pm",)

    def command(self):
        return ["perl", APPS / "app.pl", "daemon", "-m", "production", "-l", f"http://127.0.0.1:{self.port}"]

    def stalls(self):
        return blocking_stalls(self.request, {"/compute": "Perl_.*"}, r"main::__ANON__ \(app\.pl\)")


class Tcl(HandlersOfOurs):
    name, is_known = "tcl", True
    no_action = TCL_REST
    misses = {stall.name: Miss(TCL_REST) for stall in blocking_stalls(lambda path: None)}
    needs = ("tclsh",)

    def command(self):
        return ["tclsh", APPS / "server.tcl", self.port, self.fifo]

    def stalls(self):
        return blocking_stalls(self.request, {"/sleep": "Tcl_.*", "/compute": "Tcl.*"})


class PhpServer(HTTPProgram):
    """PHP's built-in server, which handles one request after another."""

    name, hang_path = "php-server", "/hang"
    needs = ("php",)

    def command(self):
        return ["php", "-q", "-S", f"127.0.0.1:{self.port}", APPS / "index.php"]

    def stalls(self):
        return blocking_stalls(self.request, {"/compute": "", "/read": ""}, r"\{main\} \(index\.php\)")


class Rack(HTTPProgram):
    """A Ruby server that runs apps/config.ru."""

    hang_path = "/hang"

    def stalls(self):
        return blocking_stalls(self.request, {"/sleep": None, "/compute": None, "/read": "", "/wait": None, "/lock": None}, r"block \(2 levels\) in <main> \(config\.ru\)")


class Thin(Rack):
    """A server with EventMachine's loop."""

    name, is_known = "thin", True
    no_action = "the stack does not show that the handler is in EventMachine's loop, whose wait is deeper"
    needs = ("thin",)

    def command(self):
        return ["thin", "start", "--quiet", "--address", "127.0.0.1", "--port", self.port, "--rackup", APPS / "config.ru"]


class Webrick(HTTPProgram):
    name, is_known = "webrick", True
    needs = ("ruby", "/usr/share/rubygems-integration/all/gems/webrick-1.8.1")
    no_stalls = "one thread per connection; a handler blocks only that thread"

    def command(self):
        return ["ruby", APPS / "webrick.rb", self.port]

    def stalls(self):
        return []

    def converse(self, session):
        # A blocked handler delays no other client.
        return super().converse(session) + session.get("/sleep").decode()


class Unicorn(Rack):
    """A Ruby server whose worker processes handle one request at a time: a worker's loop has one listener."""

    name, is_known = "unicorn", True
    needs = ("unicorn",)

    def command(self):
        return ["unicorn", "--listen", f"127.0.0.1:{self.port}", APPS / "config.ru"]


class Prosody(HTTPProgram):
    """A server in Lua, with the module of this folder that blocks."""

    name, hang_path = "prosody", "/hang"
    needs = ("prosody",)

    def command(self):
        return ["prosody", "-F", "--config", self.write("prosody.cfg.lua", f"""
            plugin_paths = {{ "{self.home}" }}
            modules_enabled = {{ "block" }}
            modules_disabled = {{ "posix", "s2s" }}
            http_ports = {{ {self.port} }} https_ports = {{}} http_interfaces = {{ "127.0.0.1" }} http_default_host = "localhost"
            http_paths = {{ block = "/" }}
            c2s_ports = {{}} legacy_ssl_ports = {{}}
            data_path = "{self.home}" run_as_root = true
            log = {{ error = "{self.home}/log" }}
            VirtualHost "localhost"
        """)]

    def __init__(self, home, port):
        super().__init__(home, port)
        self.write("mod_block.lua", (APPS / "module.lua").read_text())

    def stalls(self):
        return blocking_stalls(self.request, {"/sleep": CHILD_CALL, "/compute": "lua.*", "/read": ""}, culprits={"/compute": "lua.*"})


class Tarantool(Program):
    """A database with one thread that runs Lua, controlled through its console."""

    name = "tarantool"
    needs = ("tarantool",)
    output_is_same = False

    def command(self):
        return ["tarantool", self.write("start.lua", f"""
            box.cfg {{ memtx_dir = "{self.home}", wal_dir = "{self.home}", vinyl_dir = "{self.home}", log_level = 1 }}
            require("console").listen({self.port})
        """)]

    def evaluate(self, text):
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection:
            connection.sendall(text.encode() + b"\n")
            return receive_until(connection, b"...\n").decode()

    def converse(self, session):
        return "".join(self.evaluate(f"return {number} + 1") for number in range(10))

    def stalls(self):
        return [
            Stall("a script that waits for a child", lambda session: self.evaluate("return os.execute('sleep 0.6')"), ("syscall",), CHILD_CALL, "lj_cf_os_execute"),
            Stall("a script that computes", lambda session: self.evaluate(
                "local stop = os.clock() + 0.6 repeat for _ = 1, 100000 do end until os.clock() > stop return 1"), ("cpu",)),
        ]

    def begin_hang(self, session, seconds):
        in_background(self.evaluate, f"return os.execute('sleep {seconds}')")

    def visit(self, session):
        self.evaluate("return 1")

    def load(self, session, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.evaluate("return 1")


class SwiftNIO(HTTPProgram):
    """Examples/PlainNIOServer, which does not contain LagMonitor."""

    name, is_known = "swiftnio", True
    needs = ("swift",)
    server = None

    @classmethod
    def prepare(cls, folder):
        build = ["swift", "build", "--package-path", APPS.parents[2] / "Examples" / "PlainNIOServer", "-c", "release"]
        subprocess.run([*build, "--product", "PlainNIOServer"], check=True, stdout=sys.stderr)
        shown = subprocess.run([*build, "--show-bin-path"], check=True, stdout=subprocess.PIPE, text=True)
        SwiftNIO.server = pathlib.Path(shown.stdout.strip()) / "PlainNIOServer"

    def command(self):
        return [self.server, self.port]

    def stalls(self):
        waiting, computing = r".*RequestHandler\.waitForASlowStore", r".*RequestHandler\.resizeAnImage"
        return [
            Stall("a sleep in a handler", self.request("/sleep"), ("syscall",), waiting, waiting, loop=".+"),
            Stall("a handler that computes", self.request("/compute"), ("cpu",), computing, computing, loop=".+"),
        ]


PROGRAMS = (Node, Mojolicious, SwiftNIO, Tcl, PhpServer, Thin, Webrick, Unicorn, Prosody, Tarantool)
