"""Servers in JavaScript, Perl, Tcl, PHP and Ruby."""
import os

from program import APPS, HandlersOfOurs, HTTPProgram, Stall, blocking_stalls


class Node(HandlersOfOurs):
    name, is_known = "node", True
    needs = ("node", "wrk")

    def command(self):
        return ["node", APPS / "server.js", self.port, self.fifo]

    def stalls(self):
        # What V8 compiles has no symbol; what called it has, down to the loop. Its sleep is a wait for a condition.
        stalls = blocking_stalls(self.request, {"/sleep": "uv_run", "/compute": "uv_run", "/read": "uv_fs_(open|read)"})
        stalls[0].cause = ("syscall", "lock")
        return stalls


class Mojolicious(HandlersOfOurs):
    name = "mojolicious"
    needs = ("perl", "wrk")

    def command(self):
        return ["perl", APPS / "app.pl", "daemon", "-m", "production", "-l", f"http://127.0.0.1:{self.port}"]

    def stalls(self):
        return blocking_stalls(self.request, {"/compute": "Perl_.*"})


class Tcl(HandlersOfOurs):
    name = "tcl"
    needs = ("tclsh", "wrk")

    def command(self):
        return ["tclsh", APPS / "server.tcl", self.port, self.fifo]

    def stalls(self):
        return blocking_stalls(self.request, {"/sleep": "Tcl_.*", "/compute": "Tcl.*"})


class PhpServer(HTTPProgram):
    """PHP's own server, one request after the other."""

    name = "php-server"
    needs = ("php", "wrk")

    def command(self):
        return ["php", "-q", "-S", f"127.0.0.1:{self.port}", APPS / "index.php"]

    def stalls(self):
        return blocking_stalls(self.request, {"/compute": "", "/read": ""})


class Thin(HTTPProgram):
    """EventMachine's loop."""

    name = "thin"
    needs = ("thin", "wrk")

    def command(self):
        return ["thin", "start", "--quiet", "--address", "127.0.0.1", "--port", self.port, "--rackup", APPS / "config.ru"]

    def stalls(self):
        return blocking_stalls(self.request, {"/sleep": None, "/compute": None, "/read": ""})


class SwiftNIO(HTTPProgram):
    """Examples/PlainNIOServer, which does not have LagMonitor in it."""

    name, is_known = "swiftnio", True
    server = os.environ.get("WRAP_NIO_SERVER", "build of Examples/PlainNIOServer (WRAP_NIO_SERVER)")
    needs = ("wrk", server)

    def command(self):
        return [self.server, self.port]

    def stalls(self):
        waiting, computing = r".*RequestHandler\.waitForASlowStore", r".*RequestHandler\.resizeAnImage"
        return [
            Stall("a sleep in a handler", self.request("/sleep"), ("syscall",), waiting, waiting, loop=".+"),
            Stall("a handler that computes", self.request("/compute"), ("cpu",), computing, computing, loop=".+"),
        ]


PROGRAMS = (Node, Mojolicious, SwiftNIO, Tcl, PhpServer, Thin)
