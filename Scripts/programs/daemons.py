"""Servers with one loop or a few, from Debian packages."""
import signal
import subprocess
import time

from harness import Failure, repeat_client, run_client
from injected import Injected
from program import HTTPProgram, Program, Reloading, in_background, talk_load
from stalls import BLOCK_SECONDS, CHILD_CALL, REREAD, Miss, Stall


class Redis(Program):
    name, is_known = "redis", True
    needs = ("redis-server", "redis-benchmark")

    def command(self):
        return ["redis-server", "--port", self.port, "--bind", "127.0.0.1", "--save", "", "--enable-debug-command", "yes", "--loglevel", "warning"]

    def converse(self, session):
        return "".join(session.exchange(line).decode() for line in (b"SET a 1\r\n", b"INCR a\r\n", b"NOSUCH\r\n", b"PING\r\n"))

    def stalls(self):
        return [
            Stall("DEBUG SLEEP", lambda session: session.exchange(b"DEBUG SLEEP 0.6\r\n"), ("syscall",), r"debugCommand", r"debugCommand"),
            Stall("a slow script", self.compute, ("cpu",), r"eval(Generic)?Command", r"(eval|script|lua|luaV_).*"),
        ]

    def compute(self, session):
        """Runs a script that counts, because redis stops the clock within a script. A first run, too short to be a stall, calibrates the count.
        Returns (asked, ended)."""
        def count(turns):
            asked = time.monotonic()
            session.exchange(b'EVAL "local i=0 for j=1,%d do i=i+1 end return i" 0\r\n' % turns)
            return asked, time.monotonic()

        asked, ended = count(5_000_000)
        return count(int(5_000_000 * BLOCK_SECONDS / (ended - asked)))

    def begin_hang(self, session, seconds):
        in_background(session.exchange, f"DEBUG SLEEP {seconds}\r\n".encode())

    def visit(self, session):
        session.exchange(b"PING\r\n")

    def load(self, session, seconds):
        repeat_client(["redis-benchmark", "-p", str(self.port), "-n", "100000", "-q"], seconds)


class Nginx(HTTPProgram):
    name, is_known, hang_path = "nginx", True, "/hang"
    needs = ("nginx", "/usr/lib/nginx/modules/ngx_http_echo_module.so")

    def command(self):
        (self.home / "index.html").write_text("hello\n")
        temporary = "".join(f"{kind}_temp_path {self.home}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        return ["nginx", "-p", self.home, "-c", self.write("nginx.conf", f"""
            load_module /usr/lib/nginx/modules/ngx_http_echo_module.so;
            daemon off; worker_processes 1; pid {self.home}/pid; error_log {self.home}/error.log;
            events {{ worker_connections 512; }}
            http {{
                access_log off; root {self.home}; {temporary}
                server {{ listen 127.0.0.1:{self.port}; location / {{ }} location /sleep {{ echo_blocking_sleep 0.6; echo slept; }}
                    location /hang {{ echo_blocking_sleep 8; echo slept; }} }}
            }}""")]

    def stalls(self):
        name = r"ngx_http_echo_exec_echo_blocking_sleep"
        return [Stall("a sleep in a module", self.request("/sleep"), ("syscall",), name, name)]


class Haproxy(HTTPProgram):
    name, is_known, hang_path = "haproxy", True, "/hang"
    needs = ("haproxy",)

    def command(self):
        lua = self.write("block.lua", """
            local function answer(applet)
                applet:set_status(200)
                applet:add_header("content-length", "6")
                applet:start_response()
                applet:send("hello\\n")
            end
            core.register_service("sleep", "http", function(applet) os.execute("sleep 0.6") answer(applet) end)
            core.register_service("hang", "http", function(applet) os.execute("sleep 8") answer(applet) end)
        """)
        return ["haproxy", "-db", "-f", self.write("haproxy.cfg", f"""
global
    nbthread 1
    lua-load {lua}
defaults
    mode http
    timeout client 30s
    timeout server 30s
    timeout connect 5s
frontend web
    bind 127.0.0.1:{self.port}
    http-request use-service lua.sleep if {{ path /sleep }}
    http-request use-service lua.hang if {{ path /hang }}
    http-request return status 200 content-type text/plain string hello
""")]

    def stalls(self):
        return [Stall("a Lua service that waits for a child", self.request("/sleep"), ("syscall",), CHILD_CALL, "hlua_.*")]


class Lighttpd(HTTPProgram):
    name, hang_path = "lighttpd", "/hang.shtml"
    needs = ("lighttpd",)

    def command(self):
        self.write("index.html", "hello\n")
        for name, seconds in (("sleep", 0.6), ("hang", 8)):
            self.write(f"{name}.shtml", f'<!--#exec cmd="sleep {seconds}" -->\nhello\n')
        return ["lighttpd", "-D", "-f", self.write("lighttpd.conf", f"""
            server.modules = ("mod_ssi")
            server.document-root = "{self.home}"
            server.port = {self.port}
            server.bind = "127.0.0.1"
            server.errorlog = "{self.home}/error.log"
            index-file.names = ("index.html")
            mimetype.assign = (".html" => "text/html")
            ssi.extension = (".shtml")
            ssi.exec = "enable"
        """)]

    def stalls(self):
        return [Stall("a page that waits for a child", self.request("/sleep.shtml"), ("syscall",), CHILD_CALL, "fdevent_.*|mod_ssi_.*")]

    def end(self, session):
        # After SIGTERM its status is 0 or 1 at random.
        session.process.send_signal(signal.SIGINT)


class Memcached(Injected):
    name = "memcached"
    needs = ("memcached",)
    greeting = b"get a\r\n"
    any_thread = True
    # Each of its four loops gets every fourth client.
    visit_seconds = 0.05

    def command(self):
        return ["memcached", "-l", "127.0.0.1", "-p", self.port, "-u", "nobody", "-t", "4"]

    def converse(self, session):
        return "".join(session.exchange(line).decode() for line in (b"set a 0 0 1\r\n1\r\n", b"get a\r\n", b"nosuch\r\n"))

    def load(self, session, seconds):
        talk_load(self.port, seconds, 20, r"get a\r\n", r"END\r\n")


class Beanstalkd(Injected):
    name = "beanstalkd"
    needs = ("beanstalkd",)
    greeting = b"peek-ready\r\n"

    def command(self):
        return ["beanstalkd", "-l", "127.0.0.1", "-p", self.port]

    def converse(self, session):
        return "".join(session.exchange(line).decode() for line in (b"put 0 0 9 1\r\na\r\n", b"peek-ready\r\n", b"nosuch\r\n"))

    def load(self, session, seconds):
        talk_load(self.port, seconds, 20, r"peek-ready\r\n", r"\r\na\r\n")


class Mosquitto(Reloading):
    name = "mosquitto"
    needs = ("mosquitto", "mosquitto_pub", "mosquitto_sub")

    def command(self):
        self.reread = self.write("acl", "topic readwrite #\n")
        self.reread.chmod(0o644)
        return ["mosquitto", "-c", self.write("mosquitto.conf", f"""
listener {self.port} 127.0.0.1
allow_anonymous true
acl_file {self.reread}
log_type none
user root
""")]

    def converse(self, session):
        subscriber = subprocess.Popen(
            ["mosquitto_sub", "-p", str(self.port), "-t", "a/#", "-C", "3", "-W", "10"], stdout=subprocess.PIPE, text=True
        )
        time.sleep(0.3)
        for word in ("one", "two", "three"):
            run_client(["mosquitto_pub", "-p", str(self.port), "-t", "a/b", "-m", word, "-q", "1"], 5)
        return subscriber.communicate()[0]

    def visit(self, session):
        session.exchange(b"\x10\x0d\0\4MQTT\4\2\0\x3c\0\1a")

    def load(self, session, seconds):
        subscriber = subprocess.Popen(["mosquitto_sub", "-p", str(self.port), "-t", "l"], stdout=subprocess.DEVNULL)
        publisher = subprocess.Popen(["mosquitto_pub", "-p", str(self.port), "-t", "l", "-l"], stdin=subprocess.PIPE)
        end = time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                publisher.stdin.write(b"a line of a message\n" * 20)
                publisher.stdin.flush()
                time.sleep(0.01)
        finally:
            publisher.stdin.close()
            publisher.wait()
            subscriber.terminate()
            subscriber.wait()


class Squid(Reloading):
    # lagmond forwards the signal to squid's master, which forwards it to the process with the loop.
    name, is_known = "squid", True
    misses = {REREAD: Miss("as another user it is watched from outside, not from the start", only_first=True)}
    no_action = "it takes its descriptors out of its epoll instance before it rereads the file, so nothing is pending there"
    needs = ("squid", "wrk")

    def command(self):
        self.reread = self.write("rights", "192.0.2.1\n")
        self.home.chmod(0o777)
        return ["squid", "--foreground", "-n", f"p{self.port}", "-f", self.write("squid.conf", f"""
http_port 127.0.0.1:{self.port}
acl others src "{self.reread}"
http_access allow all
cache deny all
pid_filename {self.home}/pid
access_log none
cache_log {self.home}/cache.log
cache_store_log none
coredump_dir {self.home}
netdb_filename none
pinger_enable off
shutdown_lifetime 0 seconds
""")]

    def converse(self, session):
        return "".join(str(len(session.get("/squid-internal-static/icons/SN.png"))) for _ in range(10))

    def load(self, session, seconds):
        text = run_client(["wrk", "-t1", "-c8", f"-d{max(1, round(seconds))}s", f"http://127.0.0.1:{self.port}/squid-internal-static/icons/SN.png"], seconds)
        if "requests in" not in text or "Non-2xx" in text:
            raise Failure(f"wrk had errors: {text}")


PROGRAMS = (Redis, Nginx, Haproxy, Lighttpd, Memcached, Beanstalkd, Mosquitto, Squid)
