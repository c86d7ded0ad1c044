"""Servers that reload a file on request. If the file is a pipe, this delays their clients."""
import signal
import subprocess
import time
import xmlrpc.client

from name_servers import NameServer
from program import Reloading, talk_load


class Named(NameServer):
    """Its loops wait for each other while it reads its configuration, so a reload is one stall."""

    name = "named"
    needs = ("named",)
    question = "a.example"
    loop = "isc-net-.*"

    def command(self):
        self.write("zone", "$TTL 60\n@ SOA ns root 1 60 60 60 60\n@ NS ns\nns A 127.0.0.1\na A 127.0.0.2\n")
        self.reread = self.write("more.conf", "")
        return ["named", "-g", "-4", "-n", "1", "-c", self.write("named.conf", f"""
            options {{ directory "{self.home}"; listen-on port {self.port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }}; pid-file none;
                session-keyfile none; recursion no; dnssec-validation no; managed-keys-directory "{self.home}"; }};
            controls {{ }};
            zone "example" {{ type primary; file "zone"; }};
            include "{self.reread}";
        """)]

    def converse(self, session):
        return "".join(self.ask(name).hex(" ", 4) + "\n" for name in ("a.example", "none.example"))


class Ngircd(Reloading):
    name = "ngircd"
    needs = ("ngircd",)
    # Its output contains the path of its configuration.
    output_is_same = False

    def command(self):
        self.reread = self.write("motd", "hello\n")
        return ["ngircd", "-n", "-f", self.write("ngircd.conf", f"""[Global]
            Name = irc.example.net
            Listen = 127.0.0.1
            Ports = {self.port}
            MotdFile = {self.reread}
            ServerUID = root
            ServerGID = root
            [Limits]
            MaxConnectionsIP = 0
            [Options]
            Ident = no
            PAM = no
            DNS = no
        """)]

    def converse(self, session):
        return self.talk(b"NICK a\r\nUSER a 0 * :a\r\nPING x\r\n", 3)

    def load(self, session, seconds):
        talk_load(self.port, seconds, 4, r"PING x\r\n", r"\r\n")


class Xinetd(Reloading):
    name = "xinetd"
    needs = ("xinetd",)

    def command(self):
        self.reread = self.write("more", "")
        return ["xinetd", "-dontfork", "-pidfile", self.home / "pid", "-f", self.write("xinetd.conf", f"""
service hello
{{
    type = UNLISTED
    socket_type = stream
    wait = no
    user = root
    bind = 127.0.0.1
    port = {self.port}
    server = /bin/echo
    server_args = hello
    cps = 1000 1
}}
include {self.reread}
""")]

    def converse(self, session):
        return "".join(self.talk(b"", 1) for _ in range(5))

    def load(self, session, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.talk(b"", 1)
            time.sleep(0.02)


class DBus(Reloading):
    name = "dbus-daemon"
    needs = ("dbus-daemon", "dbus-send")

    def command(self):
        self.reread = self.write("more.conf", "<busconfig/>\n")
        self.bus = f"unix:path={self.home}/bus"
        return ["dbus-daemon", "--nofork", "--nopidfile", "--config-file", self.write("bus.conf", f"""<busconfig>
            <type>session</type> <listen>{self.bus}</listen> <auth>EXTERNAL</auth> <include>{self.reread}</include>
            <policy context="default"> <allow send_destination="*" eavesdrop="true"/> <allow eavesdrop="true"/> <allow own="*"/> </policy>
        </busconfig>""")]

    def is_ready(self, session):
        return (self.home / "bus").exists()

    def names(self):
        return subprocess.run(
            ["dbus-send", f"--bus={self.bus}", "--print-reply=literal", "--dest=org.freedesktop.DBus", "/", "org.freedesktop.DBus.ListNames"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        ).stdout

    def answers(self, session):
        return self.names()

    def converse(self, session):
        return self.names()

    def load(self, session, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.names()


class Cups(Reloading):
    name = "cupsd"
    no_action = "it closes its sockets before it rereads the file, so no client can wait"
    needs = ("cupsd",)

    def command(self):
        for folder in ("server", "state", "cache", "temporary", "spool"):
            (self.home / folder).mkdir()
        self.reread = self.write("server/cupsd.conf", f"Listen 127.0.0.1:{self.port}\nLogLevel none\nBrowsing No\n<Location />\nOrder allow,deny\n</Location>\n")
        files = self.write("server/cups-files.conf", "".join(f"{key} {self.home}/{name}\n" for key, name in (
            ("ServerRoot", "server"), ("StateDir", "state"), ("CacheDir", "cache"), ("TempDir", "temporary"), ("RequestRoot", "spool"),
            ("AccessLog", "access"), ("ErrorLog", "errors"), ("PageLog", "pages"))))
        return ["cupsd", "-f", "-c", self.reread, "-s", files]

    def page(self):
        return self.talk(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n", 1)

    def converse(self, session):
        return "".join(self.page() for _ in range(5))

    def load(self, session, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.page()
            time.sleep(0.005)


class Tinyproxy(Reloading):
    name = "tinyproxy"
    needs = ("tinyproxy",)
    # If it is not a daemon, SIGHUP terminates it.
    reload_signal = signal.SIGUSR1

    def command(self):
        self.reread = self.write("tinyproxy.conf", f"Port {self.port}\nListen 127.0.0.1\nTimeout 60\nMaxClients 50\nAllow 127.0.0.1\nLogLevel Critical\n")
        return ["tinyproxy", "-d", "-c", self.reread]

    def converse(self, session):
        return "".join(self.talk(b"GET /x HTTP/1.0\r\n\r\n", 1) for _ in range(5))

    def load(self, session, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.talk(b"GET /x HTTP/1.0\r\n\r\n", 1)
            time.sleep(0.005)


class Stunnel(Reloading):
    name = "stunnel"
    needs = ("stunnel4",)

    def command(self):
        self.reread = self.write("stunnel.conf", f"foreground = yes\npid =\ndebug = 0\n[back]\nclient = yes\naccept = 127.0.0.1:{self.port}\nconnect = 127.0.0.1:9\n")
        return ["stunnel4", self.reread]

    def visit(self, session):
        # Port 9 refuses the connection, so this one ends without an answer.
        self.talk(b"", 1)


class Chrony(Reloading):
    name, way_seconds = "chronyd", 0.2
    needs = ("chronyd", "chronyc")

    def command(self):
        self.reread = self.write("keys", "")
        self.reread.chmod(0o640)
        (self.home / "run").mkdir(mode=0o750)
        return ["chronyd", "-d", "-x", "-u", "root", "-f", self.write("chrony.conf", f"""
port 0
local stratum 10
cmdport 0
bindcmdaddress {self.home}/run/command
keyfile {self.reread}
pidfile {self.home}/pid
""")]

    def command_line(self, *words):
        return ["chronyc", "-h", f"{self.home}/run/command", *words]

    def is_ready(self, session):
        return (self.home / "run/command").exists()

    def request_reload(self, session):
        client = subprocess.Popen(self.command_line("rekey"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return client.wait

    def answers(self, session):
        return self.converse(session)

    def converse(self, session):
        return subprocess.run(self.command_line("activity"), stdout=subprocess.PIPE, text=True).stdout

    def load(self, session, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.converse(session)


class Supervisor(Reloading):
    name, way_seconds = "supervisord", 0.5
    needs = ("supervisord",)

    def command(self):
        self.reread = self.write("more.ini", "[program:b]\ncommand=sleep 1000\n")
        return ["supervisord", "--nodaemon", "--silent", "--configuration", self.write("supervisord.conf", f"""
[supervisord]
logfile={self.home}/log
pidfile={self.home}/pid
childlogdir={self.home}
[inet_http_server]
port=127.0.0.1:{self.port}
[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface
[program:a]
command=sleep 1000
[include]
files={self.reread}
""")]

    def remote(self):
        return xmlrpc.client.ServerProxy(f"http://127.0.0.1:{self.port}").supervisor

    def request_reload(self, session):
        client = subprocess.Popen(
            ["/usr/bin/python3", "-c", f"import xmlrpc.client; xmlrpc.client.ServerProxy('http://127.0.0.1:{self.port}').supervisor.reloadConfig()"]
        )
        return client.wait

    def converse(self, session):
        return " ".join(process["name"] for process in self.remote().getAllProcessInfo())

    def load(self, session, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.converse(session)


PROGRAMS = (Named, Ngircd, Xinetd, DBus, Cups, Tinyproxy, Stunnel, Chrony, Supervisor)
