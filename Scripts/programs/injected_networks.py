"""Servers whose handlers are blocked by a preloaded library: directories, proxies, message routers, streams."""
from harness import free_port
from injected import Injected, UDP


class Pool(Injected):
    no_stalls = "its handlers block threads of a pool; other threads continue"

    def stalls(self):
        return []


class Slapd(Pool):
    name = "slapd"
    needs = ("slapd",)

    def command(self):
        (self.home / "data").mkdir()
        conf = self.write("slapd.conf", f"""
include /etc/ldap/schema/core.schema
modulepath /usr/lib/ldap
moduleload back_mdb
database mdb
suffix "dc=example"
directory {self.home}/data
""")
        return ["slapd", "-d", "0", "-f", conf, "-h", f"ldap://127.0.0.1:{self.port}"]


class Varnish(Pool):
    name = "varnish"
    needs = ("varnishd",)

    def command(self):
        return ["varnishd", "-F", "-j", "none", "-a", f"127.0.0.1:{self.port}", "-b", "127.0.0.1:1", "-n", self.home / "work"]


class Tor(Injected):
    name = "tor"
    needs = ("tor",)
    # Its output contains the paths of its files.
    output_is_same = False

    def command(self):
        conf = self.write("torrc", f"SocksPort 127.0.0.1:{self.port}\nDataDirectory {self.home}/data\nDisableNetwork 0\nLog err stderr\n")
        return ["tor", "--defaults-torrc", self.write("defaults", ""), "-f", conf]


class Snapserver(Pool):
    name = "snapserver"
    # Each of three loops wakes 21 times a second.
    idle_limit = 0.014
    needs = ("snapserver",)
    # When it exits, its threads log in any order.
    output_is_same = False

    def command(self):
        conf = self.write("snap.conf", f"""
[http]
port = {self.port}
[tcp]
port = {free_port()}
[stream]
port = {free_port()}
source = pipe://{self.home}/fifo?name=default
""")
        return ["snapserver", "-c", conf, f"--server.datadir={self.home}"]


class Snmpd(UDP):
    name = "snmpd"
    no_action = "its wait is deeper in the stack than its handlers, and its clients send datagrams"
    needs = ("snmpd",)
    # GetRequest of system.sysDescr, community "public".
    greeting = bytes.fromhex("302602010104067075626c6963a019020101020100020100300e300c06082b060102010101000500")

    def command(self):
        conf = self.write("snmpd.conf", f"agentAddress udp:127.0.0.1:{self.port}\nrocommunity public\n")
        return ["snmpd", "-f", "-Lo", "-C", "-c", conf, "-p", self.home / "pid"]


class Kamailio(Injected):
    name = "kamailio"
    needs = ("kamailio",)
    greeting = b"OPTIONS sip:a@127.0.0.1 SIP/2.0\r\nContent-Length: 0\r\n\r\n"

    def command(self):
        conf = self.write("kamailio.cfg", f"""
listen=tcp:127.0.0.1:{self.port}
log_stderror=yes
children=1
fork=yes
request_route {{
    drop;
}}
""")
        return ["kamailio", "-DD", "-f", conf, "-P", self.home / "pid", "-Y", self.home]


class H2o(Injected):
    name = "h2o"
    needs = ("h2o",)
    any_thread = True

    def command(self):
        conf = self.write("h2o.conf", f"""
listen:
  host: 127.0.0.1
  port: {self.port}
user: root
num-threads: 1
hosts:
  "*":
    paths:
      /:
        file.dir: {self.home}
""")
        return ["h2o", "-c", conf]


class Rinetd(Injected):
    name = "rinetd"
    needs = ("rinetd",)

    def command(self):
        return ["rinetd", "-f", "-c", self.write("rinetd.conf", f"127.0.0.1 {self.port} 127.0.0.1 9\nlogfile {self.home}/log\n")]


class PdnsRecursor(Injected):
    name = "pdns-recursor"
    needs = ("pdns_recursor",)
    greeting = b"\x00\x11\x12\x34\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01"
    any_thread = True
    # Its statistics thread queries the other threads, and waits for their answers.
    waiting_loop = r"rec/web\+stat"

    def command(self):
        return [
            "pdns_recursor", "--daemon=no", f"--config-dir={self.home}", f"--local-port={self.port}", "--local-address=127.0.0.1",
            f"--socket-dir={self.home}", "--threads=1",
        ]


class Privoxy(Injected):
    name = "privoxy"
    needs = ("privoxy",)

    def command(self):
        return ["privoxy", "--no-daemon", self.write("privoxy.conf", f"listen-address 127.0.0.1:{self.port}\n")]


PROGRAMS = (Slapd, Varnish, Tor, Snapserver, Snmpd, Kamailio, H2o, Rinetd, PdnsRecursor, Privoxy)
