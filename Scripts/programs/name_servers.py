"""Name servers, queried by UDP."""
import socket
import subprocess

from harness import free_port
from program import Reloading, talk_load


def dns_question(name):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"
    return b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0" + labels + b"\0\x01\0\x01"


class NameServer(Reloading):
    question = "one.example"

    def ask(self, name, seconds=2.0):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
            connection.settimeout(seconds)
            connection.connect(("127.0.0.1", self.port))
            connection.sendall(dns_question(name))
            return connection.recv(4096)

    def is_ready(self, session):
        # A query would cause the first iteration of the loop, so readiness is read from the kernel's list of sockets.
        return f"0100007F:{self.port:04X}" in open("/proc/net/udp").read()

    def converse(self, session):
        return "".join(self.ask(name).hex(" ", 4) + "\n" for name in ("one.example", "two.example", "none.example"))

    def load(self, session, seconds):
        escaped = "".join(f"\\x{byte:02x}" for byte in dns_question(self.question))
        talk_load(f"udp:{self.port}", seconds, 8, escaped, "")

    def visit(self, session):
        self.ask(self.question)

    def answers(self, session):
        try:
            return self.ask(self.question)
        except OSError:
            return None


class Dnsmasq(NameServer):
    name = "dnsmasq"
    needs = ("dnsmasq",)

    def command(self):
        self.reread = self.write("hosts", "127.0.0.5 one.example\n127.0.0.6 two.example\n")
        return ["dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", f"--port={self.port}", "--listen-address=127.0.0.1",
                "--bind-interfaces", "--no-resolv", "--no-hosts", f"--addn-hosts={self.reread}", "--log-facility=-", "--user=root", f"--pid-file={self.home}/pid"]


class Unbound(NameServer):
    name, is_known = "unbound", True
    no_action = "its two threads share its sockets; the action is late or missing"
    needs = ("unbound", "unbound-control")

    def command(self):
        self.control = free_port()
        self.reread = self.write("zone", "example. 60 IN SOA a. b. 1 60 60 60 60\none.example. 60 IN A 127.0.0.5\ntwo.example. 60 IN A 127.0.0.6\n")
        self.configuration = self.write("unbound.conf", f"""
server:
    interface: 127.0.0.1@{self.port}
    do-daemonize: no
    chroot: ""
    username: ""
    directory: "{self.home}"
    pidfile: "{self.home}/pid"
    use-syslog: no
    verbosity: 0
    num-threads: 2
remote-control:
    control-enable: yes
    control-interface: 127.0.0.1
    control-port: {self.control}
    control-use-cert: no
auth-zone:
    name: "example."
    zonefile: "{self.reread}"
    for-upstream: yes
    for-downstream: yes
""")
        return ["unbound", "-d", "-c", self.configuration]

    def request_reload(self, session):
        client = subprocess.Popen(
            ["unbound-control", "-c", str(self.configuration), "auth_zone_reload", "example."], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        return client.wait


PROGRAMS = (Dnsmasq, Unbound)
