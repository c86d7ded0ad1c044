"""More servers whose handlers are blocked by a preloaded library: proxies, tunnels, compositors, a program on a terminal."""
import subprocess

from harness import free_port
from injected import UDP, Injected, UnixSocket


class Hitch(Injected):
    name = "hitch"
    needs = ("hitch", "openssl")
    greeting = b"\x16\x03\x01\x00\x05hello"

    def command(self):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", self.home / "key", "-out", self.home / "cert", "-days", "2", "-subj", "/CN=a"],
                       check=True, stderr=subprocess.DEVNULL)
        self.write("pem", (self.home / "key").read_text() + (self.home / "cert").read_text())
        return ["hitch", f"--frontend=[127.0.0.1]:{self.port}", f"--backend=[127.0.0.1]:{free_port()}", "-n", "1", "--user=nobody", self.home / "pem"]


class Sslh(Injected):
    name = "sslh"
    needs = ("sslh-select",)

    def command(self):
        return ["sslh-select", "--foreground", "--listen", f"127.0.0.1:{self.port}", "--http", f"127.0.0.1:{free_port()}"]


class Redsocks(Injected):
    name = "redsocks"
    needs = ("redsocks",)

    def command(self):
        conf = self.write("redsocks.conf", f"""base {{ log = "stderr"; log_info = off; daemon = off; redirector = iptables; }}
redsocks {{ local_ip = 127.0.0.1; local_port = {self.port}; ip = 127.0.0.1; port = {free_port()}; type = socks5; }}
""")
        return ["redsocks", "-c", conf]


class Shadowsocks(Injected):
    name = "ss-server"
    needs = ("ss-server",)
    greeting = b"0123456789" * 8

    def command(self):
        return ["ss-server", "-s", "127.0.0.1", "-p", str(self.port), "-k", "a", "-m", "aes-256-gcm"]


class Uhub(Injected):
    name = "uhub"
    needs = ("uhub",)
    greeting = b"HSUP ADBASE ADTIGR\n"

    def command(self):
        conf = self.write("uhub.conf", f'server_port={self.port}\nserver_bind_addr=127.0.0.1\ntls_enable=no\n')
        return ["uhub", "-c", conf]


class Xl2tpd(UDP):
    name = "xl2tpd"
    no_action = "its wait is deeper in the stack than its handlers, and its clients send datagrams"
    needs = ("xl2tpd",)
    greeting = b"\xc8\x02\x00\x14\x00\x00\x00\x00\x00\x00\x00\x00\x80\x08\x00\x00\x00\x00\x00\x01"

    def command(self):
        conf = self.write("xl2tpd.conf", f"[global]\nport = {self.port}\nlisten-addr = 127.0.0.1\n")
        return ["xl2tpd", "-D", "-c", conf, "-p", f"{self.home}/pid", "-C", f"{self.home}/ctl", "-s", "/dev/null"]


class Minidlna(Injected):
    name = "minidlna"
    needs = ("minidlnad",)

    def command(self):
        (self.home / "media").mkdir()
        conf = self.write("minidlna.conf", f"media_dir={self.home}/media\ndb_dir={self.home}\nlog_dir={self.home}\nport={self.port}\nnetwork_interface=lo\ninotify=no\n")
        return ["minidlnad", "-S", "-f", conf, "-P", f"{self.home}/pid"]


class Lircd(UnixSocket):
    name, is_known = "lircd", True
    needs = ("lircd",)
    greeting = b"VERSION\n"

    def command(self):
        conf = self.write("lircd.conf", "")
        return ["lircd", "-n", "-H", "default", "-d", "/dev/null", "-o", self.path, "-P", f"{self.home}/pid", "-O", "/dev/null", conf]


class Weston(UnixSocket):
    name = "weston"
    needs = ("weston",)
    socket_name = "wayland-7"
    # wl_display.get_registry
    greeting = b"\x01\0\0\0\x01\0\x0c\0\x02\0\0\0"

    def environment(self):
        self.home.chmod(0o700)
        return {**super().environment(), "XDG_RUNTIME_DIR": str(self.home), "HOME": str(self.home)}

    def command(self):
        return ["weston", "--backend=headless-backend.so", "--socket=wayland-7", "--no-config", "--idle-time=0", f"--log={self.home}/log"]


class Pipewire(UnixSocket):
    name = "pipewire"
    needs = ("pipewire",)
    socket_name = "pipewire-0"

    def environment(self):
        return {**super().environment(), "XDG_RUNTIME_DIR": str(self.home), "PIPEWIRE_RUNTIME_DIR": str(self.home), "HOME": str(self.home)}

    def command(self):
        return ["pipewire"]


class Dnsdist(Injected):
    name = "dnsdist"
    # Each of twelve loops wakes twice a second.
    idle_limit = 0.014
    needs = ("dnsdist",)
    no_stalls = "its connections are accepted by a thread that does nothing else"
    greeting = b"\x00\x11\x12\x34\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01"

    def stalls(self):
        return []

    def command(self):
        conf = self.write("dnsdist.conf", f"setLocal('127.0.0.1:{self.port}')\nnewServer({{address='127.0.0.1:{free_port()}', healthCheckMode='up'}})\nsetSecurityPollSuffix('')\n")
        return ["dnsdist", "--supervised", "--disable-syslog", "-C", conf]


class Quassel(Injected):
    name = "quasselcore"
    needs = ("quasselcore",)

    def command(self):
        return ["quasselcore", f"--configdir={self.home}", f"--listen=127.0.0.1", f"--port={self.port}", "--loglevel=Error"]


class Nbdkit(Injected):
    name = "nbdkit"
    needs = ("nbdkit",)
    no_stalls = "one thread per connection"

    def stalls(self):
        return []

    def command(self):
        return ["nbdkit", "-f", "-p", str(self.port), "-i", "127.0.0.1", "memory", "1M"]


class Rtorrent(UnixSocket):
    name = "rtorrent"
    no_action = "its wait is deeper in the stack than its handlers"
    needs = ("rtorrent",)
    needs_terminal = True
    output_is_same = False
    any_thread = True
    greeting = b"19:CONTENT_LENGTH\0000\0,"

    def command(self):
        conf = self.write("rc", f"network.scgi.open_local = {self.path}\nnetwork.port_range.set = {self.port}-{self.port}\n")
        return ["rtorrent", "-n", "-o", f"import={conf}"]


class KeaAgent(Injected):
    name = "kea-ctrl-agent"
    needs = ("kea-ctrl-agent",)

    def environment(self):
        return {**super().environment(), "KEA_PIDFILE_DIR": str(self.home), "KEA_LOCKFILE_DIR": str(self.home)}

    def command(self):
        conf = self.write("kea.json", '{"Control-agent": {"http-host": "127.0.0.1", "http-port": %d, "loggers": [{"name": "kea-ctrl-agent", "severity": "FATAL", "output_options": [{"output": "stderr"}]}]}}' % self.port)
        return ["kea-ctrl-agent", "-c", conf]


class Sentinel(Injected):
    name, is_known = "redis-sentinel", True
    needs = ("redis-server",)
    greeting = b"PING\r\n"

    def command(self):
        conf = self.write("sentinel.conf", f"port {self.port}\nbind 127.0.0.1\ndir {self.home}\nlogfile {self.home}/log\n")
        return ["redis-server", conf, "--sentinel"]


class Ncat(Injected):
    name = "ncat"
    needs = ("ncat",)

    def command(self):
        return ["ncat", "-k", "-l", "127.0.0.1", str(self.port)]


class Icecast(Injected):
    name = "icecast2"
    needs = ("icecast2",)
    no_stalls = "a blocked thread delays only its own client"

    def stalls(self):
        return []

    def command(self):
        # It writes its logs as another user.
        self.home.chmod(0o777)
        conf = self.write("icecast.xml", f"""<icecast><limits><clients>10</clients><sources>2</sources></limits>
<authentication><source-password>a</source-password><admin-user>a</admin-user><admin-password>a</admin-password></authentication>
<hostname>localhost</hostname><listen-socket><port>{self.port}</port><bind-address>127.0.0.1</bind-address></listen-socket>
<paths><logdir>{self.home}</logdir><webroot>/usr/share/icecast2/web</webroot><adminroot>/usr/share/icecast2/admin</adminroot></paths>
<logging><accesslog>a.log</accesslog><errorlog>e.log</errorlog></logging>
<security><chroot>0</chroot><changeowner><user>nobody</user><group>nogroup</group></changeowner></security></icecast>""")
        return ["icecast2", "-c", conf]


PROGRAMS = (
    KeaAgent, Sentinel, Ncat, Icecast,
    Hitch, Sslh, Redsocks, Shadowsocks, Uhub, Xl2tpd, Minidlna, Lircd, Weston, Pipewire, Dnsdist,
    Quassel, Nbdkit, Rtorrent,
)
