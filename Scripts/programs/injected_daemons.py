"""Daemons whose handlers are blocked by a preloaded library: proxies, chat, virtual machines, logs, games, web and mail servers in C, C++, Perl and Nim."""
import socket
import subprocess
import sys

from harness import free_port
from injected import Injected
from injected_networks import Pool
from program import APPS


class Nutcracker(Injected):
    name = "nutcracker"
    needs = ("nutcracker",)
    greeting = b"get a\r\n"

    def command(self):
        conf = self.write("nutcracker.yml", f"a:\n  listen: 127.0.0.1:{self.port}\n  hash: fnv1a_64\n  distribution: ketama\n  servers:\n   - 127.0.0.1:{free_port()}:1\n")
        return ["nutcracker", "-c", conf, "-o", self.home / "log", "-s", str(free_port()), "-a", "127.0.0.1"]


class QemuStorage(Injected):
    name = "qemu-storage-daemon"
    needs = ("qemu-storage-daemon",)
    greeting = b'{"execute":"qmp_capabilities"}'
    # Its monitor's thread waits for the main thread's lock.
    waiting_loop = "thread .*"

    def command(self):
        return ["qemu-storage-daemon", "--chardev", f"socket,id=a,host=127.0.0.1,port={self.port},server=on,wait=off", "--monitor", "chardev=a"]


class Pioneers(Injected):
    name, is_known = "pioneers", True
    needs = ("/usr/games/pioneers-server-console",)
    greeting = b"version 15\n"
    output_is_same = False

    def command(self):
        return ["/usr/games/pioneers-server-console", "-p", str(self.port)]


class Pen(Injected):
    name = "pen"
    needs = ("pen",)

    def command(self):
        self.backend = socket.create_server(("127.0.0.1", 0), backlog=1000)
        return ["pen", "-f", "-C", f"127.0.0.1:{free_port()}", f"127.0.0.1:{self.port}", f"127.0.0.1:{self.backend.getsockname()[1]}"]

    def clean_up(self):
        self.backend.close()


class Webdis(Injected):
    name = "webdis"
    needs = ("webdis",)
    greeting = b"GET /PING HTTP/1.1\r\nHost: a\r\n\r\n"
    any_thread = True
    output_is_same = False

    def command(self):
        conf = self.write("webdis.json", (
            '{"redis_host": "127.0.0.1", "redis_port": %d, "http_host": "127.0.0.1", "http_port": %d, "threads": 1, "pool_size": 1, "daemonize": false, '
            '"database": 0, "acl": [{"disabled": []}], "verbosity": 0, "logfile": "%s/log"}'
        ) % (free_port(), self.port, self.home))
        return ["webdis", conf]


class Conserver(Injected):
    name = "conserver"
    needs = ("conserver",)
    greeting = b"exit\r\n"
    output_is_same = False

    def command(self):
        conf = self.write("conserver.cf", "config * { }\ndefault full { rw *; }\naccess * { trusted 127.0.0.1; }\nconsole a { master localhost; type exec; exec cat; }\n")
        return ["conserver", "-n", "-C", conf, "-M", "127.0.0.1", "-p", str(self.port)]


class JournalRemote(Injected):
    name = "journal-remote"
    needs = ("/lib/systemd/systemd-journal-remote",)
    greeting = b"__REALTIME_TIMESTAMP=1\nMESSAGE=a\n\n"
    output_is_same = False

    def command(self):
        return ["/lib/systemd/systemd-journal-remote", f"--listen-raw=127.0.0.1:{self.port}", f"--output={self.home}/a.journal", "--split-mode=none"]


class Perlbal(Injected):
    name = "perlbal"
    needs = ("perlbal",)
    output_is_same = False

    def command(self):
        return ["perlbal", "-c", self.write("perlbal.conf", f"CREATE SERVICE a\n SET role = web_server\n SET docroot = {self.home}\n SET listen = 127.0.0.1:{self.port}\nENABLE a\n")]


class IrcdHybrid(Injected):
    name = "ircd-hybrid"
    needs = ("ircd-hybrid",)
    user = "nobody"
    greeting = b"NICK a\r\nUSER a a a a\r\n"

    def command(self):
        conf = self.write("ircd.conf", f"""
serverinfo {{ name = "irc.example.org"; description = "a"; network_name = "a"; default_max_clients = 20; }};
admin {{ name = "a"; email = "a@example.org"; }};
class {{ name = "c"; ping_time = 120 seconds; number_per_ip_local = 50; max_number = 50; sendq = 100 kbytes; }};
auth {{ user = "*@*"; class = "c"; flags = need_ident; }};
listen {{ host = "127.0.0.1"; port = {self.port}; }};
log {{ use_logging = no; }};
""")
        files = [word for name in ("pid", "log", "kline", "xline", "dline", "resv") for word in (f"-{name}file", self.home / name)]
        return ["/usr/sbin/ircd-hybrid", "-foreground", "-configfile", conf, *files]


class Bip(Injected):
    name = "bip"
    needs = ("bip",)
    greeting = IrcdHybrid.greeting
    output_is_same = False

    def command(self):
        conf = self.write("bip.conf", f"""
ip = "127.0.0.1";
port = {self.port};
client_side_ssl = false;
log_level = 0;
pid_file = "{self.home}/pid";
log_root = "{self.home}";
log = false;
log_system = false;
network {{ name = "a"; server {{ host = "127.0.0.1"; port = {free_port()}; }}; }};
user {{
    name = "a"; password = "3880f2b39b3b9cb507b052b695d2680859bfc327";
    connection {{ name = "a"; network = "a"; user = "a"; nick = "a"; realname = "a"; }};
}};
""")
        conf.chmod(0o600)
        return ["bip", "-n", "-f", conf, "-s", self.home]


class Postgrey(Injected):
    name = "postgrey"
    needs = ("postgrey",)
    greeting = b"request=smtpd_access_policy\nprotocol_state=RCPT\nsender=a@b\nrecipient=c@d\nclient_address=1.2.3.4\n\n"
    output_is_same = False

    def command(self):
        return ["postgrey", f"--inet=127.0.0.1:{self.port}", f"--dbdir={self.home}", "--user=root", "--group=root"]


class Opentracker(Injected):
    name = "opentracker"
    needs = ("opentracker",)
    user = "nobody"
    greeting = b"GET /stats HTTP/1.0\r\n\r\n"
    any_thread = True
    output_is_same = False

    def command(self):
        return ["opentracker", "-i", "127.0.0.1", "-p", str(self.port), "-P", str(self.port), "-d", self.home, "-u", "nobody"]


class Nghttpd(Injected):
    name = "nghttpd"
    needs = ("nghttpd",)
    greeting = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
    any_thread = True

    def command(self):
        return ["nghttpd", "--no-tls", "-d", self.home, "-a", "127.0.0.1", str(self.port)]


class Rrdcached(Pool):
    name = "rrdcached"
    needs = ("rrdcached",)
    no_stalls = "one thread per connection"
    greeting = b"STATS\n"

    def command(self):
        return ["rrdcached", "-g", "-l", f"127.0.0.1:{self.port}", "-p", self.home / "pid", "-b", self.home]


class Groonga(Pool):
    name = "groonga"
    needs = ("groonga",)
    greeting = b"GET /d/status HTTP/1.0\r\n\r\n"

    def command(self):
        return ["groonga", "-s", "--protocol", "http", "--bind-address", "127.0.0.1", "-p", str(self.port), "--log-path", self.home / "log", "-n", self.home / "db"]


class Nim(Injected):
    """Its loop's wait has its events on the stack, and is deeper than the handlers."""

    name, is_known = "nim", True
    needs = ("nim",)
    # A trace of the calls at its end.
    output_is_same = False
    binary = None

    @classmethod
    def prepare(cls, folder):
        super().prepare(folder)
        Nim.binary = folder / "nim-server"
        compiler = ["nim", "compile", "--hints:off", "--warnings:off", f"--nimcache:{folder / 'nim'}", f"--out:{Nim.binary}", APPS / "web.nim"]
        subprocess.run(compiler, check=True, stdout=sys.stderr)

    def command(self):
        return [self.binary, str(self.port)]


PROGRAMS = (
    Nutcracker, QemuStorage, Pioneers, Pen, Webdis, Conserver, JournalRemote, Perlbal, IrcdHybrid, Bip, Postgrey, Opentracker, Nghttpd,
    Rrdcached, Groonga, Nim,
)
