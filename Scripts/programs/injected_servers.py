"""Servers whose handlers are blocked by a preloaded library: name servers, chat, proxies, media, X."""
from harness import free_port
from injected import Injected, UnixSocket


class Nsd(Injected):
    name = "nsd"
    needs = ("nsd",)
    greeting = b"\x00\x11\x12\x34\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01"

    def command(self):
        self.write("zone", "@ 60 IN SOA a. b. 1 60 60 60 60\n@ 60 IN NS a.\n")
        conf = self.write("nsd.conf", f"""
server:
  ip-address: 127.0.0.1@{self.port}
  username: root
  chroot: ""
  zonesdir: "{self.home}"
  database: ""
  pidfile: "{self.home}/pid"
  xfrdfile: "{self.home}/xfrd"
  zonelistfile: "{self.home}/list"
  xfrdir: "{self.home}"
  verbosity: 0
remote-control:
  control-enable: no
zone:
  name: "example."
  zonefile: "zone"
""")
        return ["nsd", "-d", "-c", conf]


class Knot(Injected):
    name = "knot"
    needs = ("knotd",)
    greeting = Nsd.greeting
    any_thread = True

    def command(self):
        conf = self.write("knot.conf", f"""
server:
  rundir: "{self.home}"
  user: root
  listen: 127.0.0.1@{self.port}
  udp-workers: 1
  tcp-workers: 1
  background-workers: 1
database:
  storage: "{self.home}"
log:
  - target: stderr
    any: error
""")
        return ["knotd", "-c", conf]


class Bitlbee(Injected):
    name = "bitlbee"
    needs = ("bitlbee",)
    greeting = b"NICK a\r\nUSER a a a a\r\n"

    def command(self):
        conf = self.write("bitlbee.conf", "[settings]\nUser = root\n")
        return ["bitlbee", "-D", "-n", "-v", "-i", "127.0.0.1", "-p", str(self.port), "-c", conf, "-d", f"{self.home}/", "-P", f"{self.home}/pid"]


class Transmission(Injected):
    name = "transmission"
    needs = ("transmission-daemon",)
    any_thread = True

    def command(self):
        return ["transmission-daemon", "-f", "-p", str(self.port), "-g", self.home, "-P", str(free_port()), "--no-dht", "--no-lpd", "--no-portmap", "-r", "127.0.0.1"]


class Aria2(Injected):
    name = "aria2"
    needs = ("aria2c",)

    def command(self):
        return ["aria2c", "--enable-rpc", f"--rpc-listen-port={self.port}", "--no-conf", "--quiet", "--enable-dht=false", f"--dir={self.home}"]


class Turnserver(Injected):
    name = "turnserver"
    needs = ("turnserver",)
    greeting = b"\x00\x01\x00\x00\x21\x12\xa4\x42" + b"a" * 12
    any_thread = True

    def command(self):
        return ["turnserver", "-n", "-p", str(self.port), "-L", "127.0.0.1", "-E", "127.0.0.1", "--no-cli", "--no-tls", "--no-dtls", "--log-file", f"{self.home}/log",
                "--simple-log", "--pidfile", f"{self.home}/pid", "--db", f"{self.home}/db", "--relay-threads", "1", "--allow-loopback-peers"]


class SyslogNg(Injected):
    name = "syslog-ng"
    needs = ("syslog-ng",)
    greeting = b"<13>Jan  1 00:00:00 a b: c\n"

    def command(self):
        conf = self.write("syslog-ng.conf", f"""@version: 3.38
options {{ threaded(no); }};
source s {{ network(ip("127.0.0.1") port({self.port}) transport("tcp")); }};
destination d {{ file("{self.home}/lines"); }};
log {{ source(s); destination(d); }};
""")
        return ["syslog-ng", "-F", "-f", conf, "-R", f"{self.home}/persist", "-p", f"{self.home}/pid", "-c", f"{self.home}/ctl", "--no-caps"]


class Pgbouncer(Injected):
    name = "pgbouncer"
    needs = ("pgbouncer",)
    user = "postgres"
    greeting = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"

    def command(self):
        conf = self.write("pgbouncer.ini", f"""
[databases]
a = host=127.0.0.1 port={free_port()}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {self.port}
unix_socket_dir =
auth_type = any
logfile = {self.home}/log
""")
        return ["pgbouncer", "-q", conf]


class Dante(Injected):
    name = "dante"
    needs = ("danted",)
    greeting = b"\x05\x01\x00"

    def command(self):
        conf = self.write("sockd.conf", f"""
logoutput: {self.home}/log
internal: 127.0.0.1 port = {self.port}
external: 127.0.0.1
socksmethod: none
clientmethod: none
user.privileged: root
user.unprivileged: root
client pass {{ from: 0/0 to: 0/0 }}
socks pass {{ from: 0/0 to: 0/0 }}
""")
        return ["danted", "-f", conf, "-p", f"{self.home}/pid"]


class Gearmand(Injected):
    name = "gearmand"
    needs = ("gearmand",)
    greeting = b"status\n"
    any_thread = True

    def command(self):
        return ["gearmand", "-L", "127.0.0.1", "-p", str(self.port), "-l", f"{self.home}/log", "-u", "root", "-t", "2"]


class Bird(UnixSocket):
    name = "bird"
    needs = ("bird",)
    greeting = b"show status\n"

    def command(self):
        conf = self.write("bird.conf", "router id 127.0.0.1;\nprotocol device { scan time 600; }\n")
        return ["bird", "-f", "-c", conf, "-s", self.path, "-P", f"{self.home}/pid"]


class Gpsd(Injected):
    name, is_known = "gpsd", True
    needs = ("gpsd",)
    greeting = b"?VERSION;\n"

    def command(self):
        return ["gpsd", "-N", "-S", str(self.port), "-F", f"{self.home}/ctl"]


class Webfsd(Injected):
    name = "webfsd"
    needs = ("webfsd",)

    def command(self):
        return ["webfsd", "-F", "-4", "-p", str(self.port), "-i", "127.0.0.1", "-r", str(self.home)]


class Ser2net(Injected):
    name = "ser2net"
    needs = ("ser2net",)
    any_thread = True

    def command(self):
        conf = self.write("ser2net.yaml", f"connection: &a\n  accepter: tcp,127.0.0.1,{self.port}\n  connector: echo\n  options:\n    max-connections: 5\n")
        return ["ser2net", "-n", "-c", conf]


class Murmur(Injected):
    name, is_known = "murmur", True
    needs = ("murmurd",)
    greeting = b"\x16\x03\x01\x00\x05hello"

    def command(self):
        conf = self.write("murmur.ini", f"database={self.home}/db\nhost=127.0.0.1\nport={self.port}\nlogfile={self.home}/log\nbonjour=False\nuname=root\npidfile={self.home}/pid\n")
        return ["murmurd", "-fg", "-ini", conf]


class Xvnc(Injected):
    name = "xvnc"
    needs = ("Xtigervnc",)
    greeting = b"RFB 003.008\n"

    def command(self):
        return ["Xtigervnc", f":{self.port}", "-rfbport", str(self.port), "-localhost", "-SecurityTypes", "None", "-nolisten", "tcp", "-nolisten", "unix", "-geometry", "320x200"]


class Pulseaudio(Injected):
    name = "pulseaudio"
    needs = ("pulseaudio",)
    greeting = b"\x00\x00\x00\x04"

    def environment(self):
        return {**super().environment(), "HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.home), "PULSE_RUNTIME_PATH": str(self.home)}

    def command(self):
        return ["pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1", "--log-level=0", "--use-pid-file=no",
                "-L", f"module-native-protocol-tcp port={self.port} listen=127.0.0.1 auth-anonymous=1"]


class Mpd(Injected):
    name = "mpd"
    needs = ("mpd",)
    greeting = b"status\n"

    def command(self):
        conf = self.write("mpd.conf", f'bind_to_address "127.0.0.1"\nport "{self.port}"\naudio_output {{\n type "null"\n name "a"\n}}\nlog_file "{self.home}/log"\n')
        return ["mpd", "--no-daemon", conf]


class Inspircd(Injected):
    name = "inspircd"
    needs = ("inspircd",)
    greeting = b"NICK a\r\nUSER a a a a\r\n"

    def command(self):
        conf = self.write("inspircd.conf", f"""
<server name="irc.example.org" description="a" network="a">
<admin name="a" nick="a" email="a@example.org">
<bind address="127.0.0.1" port="{self.port}" type="clients">
<connect allow="*" timeout="10" maxchans="5">
<pid file="{self.home}/pid">
<path configdir="{self.home}" datadir="{self.home}" logdir="{self.home}" runtimedir="{self.home}">
""")
        return ["inspircd", "--nofork", "--runasroot", "--nopid", f"--config={conf}"]


class Kresd(Injected):
    name = "kresd"
    needs = ("kresd",)
    greeting = Nsd.greeting

    def command(self):
        conf = self.write("kresd.conf", f"net.listen('127.0.0.1', {self.port})\nlog_level('crit')\ntrust_anchors.remove('.')\ncache.size = 1 * MB\nmodules.unload('ta_update')\nmodules.unload('ta_signal_query')\nmodules.unload('priming')\n")
        return ["kresd", "-n", "-c", conf, self.home]


PROGRAMS = (
    Nsd, Knot, Bitlbee, Transmission, Aria2, Turnserver, SyslogNg, Pgbouncer, Dante, Gearmand, Bird,
    Gpsd, Webfsd, Ser2net, Murmur, Xvnc, Pulseaudio, Mpd, Inspircd, Kresd,
)
