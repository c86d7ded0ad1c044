"""Servers with a pool of threads or processes: a blocked member of the pool delays no other client, and is not a stall."""
import os
import pathlib
import shutil
import subprocess

from harness import repeat_client, run_client
from program import APPS, HTTPProgram, HandlersOfOurs, Program
from stalls import Stall

POOL = "its handlers block a pool; the loop that accepts continues"


class Apache(HTTPProgram):
    needs = ("apache2",)
    module, settings = "", ""
    no_stalls = POOL

    def command(self):
        modules = "".join(
            f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n" for name in (f"mpm_{self.module}", "authz_core", "cgi" if self.module == "prefork" else "cgid", "dir")
        )
        (self.home / "index.html").write_text("hello\n")
        script = self.write("sleep.cgi", "#!/bin/sh\nsleep 0.6\nprintf 'Content-Type: text/plain\\r\\n\\r\\nslept\\n'\n")
        script.chmod(0o755)
        return ["apache2", "-DFOREGROUND", "-f", self.write("apache.conf", f"""
{modules}
ServerName localhost
Listen 127.0.0.1:{self.port}
PidFile {self.home}/pid
DefaultRuntimeDir {self.home}
ErrorLog {self.home}/error.log
{self.settings}
{"" if self.module == "prefork" else f"ScriptSock {self.home}/cgisock"}
User www-data
Group www-data
DocumentRoot {self.home}
DirectoryIndex index.html
<Directory {self.home}>
    Require all granted
    Options +ExecCGI
</Directory>
<Files "*.cgi">
    SetHandler cgi-script
</Files>
""")]

    def converse(self, session):
        return session.get("/sleep.cgi").decode() + super().converse(session)


class ApachePrefork(Apache):
    name, is_known, module = "apache-prefork", True, "prefork"


class ApacheEvent(Apache):
    name, module = "apache-event", "event"


class PhpFpm(Program):
    name = "php-fpm"
    needs = ("php-fpm8.2", "cgi-fcgi")
    no_stalls = "its processes wait in accept and serve one request at a time; its master only starts them"

    def command(self):
        self.page = self.home / "index.php"
        shutil.copy(APPS / "index.php", self.page)
        return ["php-fpm8.2", "--nodaemonize", "--fpm-config", self.write("fpm.conf", f"""
[global]
error_log = {self.home}/error.log
daemonize = no
[www]
user = www-data
group = www-data
listen = 127.0.0.1:{self.port}
pm = static
pm.max_children = 3
""")]

    def client(self, name):
        return ["env", "-i", "PATH=/usr/bin:/bin", "REQUEST_METHOD=GET", f"SCRIPT_FILENAME={self.page}", f"SCRIPT_NAME={name}", "QUERY_STRING=",
                "cgi-fcgi", "-bind", "-connect", f"127.0.0.1:{self.port}"]

    def converse(self, session):
        return "".join(run_client(self.client(name), 5) for name in ("/sleep", "/", "/", "/"))

    def load(self, session, seconds):
        repeat_client(self.client("/"), seconds)


class Puma(HTTPProgram):
    name = "puma"
    needs = ("puma",)
    no_stalls = POOL

    def command(self):
        return ["puma", "--quiet", "--threads", "4:4", "--bind", f"tcp://127.0.0.1:{self.port}", "--silent", str(APPS / "config.ru")]

    def converse(self, session):
        return session.get("/sleep").decode() + super().converse(session)


class JavaServer(HandlersOfOurs):
    needs = ("java", "javac")
    threads = 0

    @classmethod
    def prepare(cls, folder):
        subprocess.run(["javac", "-d", folder, APPS / "WebServer.java"], check=True)

    def command(self):
        return ["java", "-XX:TieredStopAtLevel=1", "-cp", self.home.parent, "WebServer", self.port, self.threads, self.fifo]


class JavaPool(JavaServer):
    name, threads, no_stalls = "java-pool", 4, POOL

    def converse(self, session):
        return session.get("/sleep").decode() + super().converse(session)


class JavaDispatcher(JavaServer):
    """The same server without a pool: its dispatcher, a loop on a Java NIO selector, runs the handlers."""

    name, is_known = "java-nio", True

    def stalls(self):
        # Java's threads have the names that the program gives them, truncated to fifteen characters.
        loop = r"HTTP-Dispatcher|thread \d+"
        handler = r"WebServer\.(lambda\$main\$0|compute)"
        return [
            Stall("a handler that sleeps", self.request("/sleep"), ("syscall", "lock"), culprit=handler, loop=loop),
            Stall("a handler that computes", self.request("/compute"), ("cpu",), culprit=handler, loop=loop),
            Stall("a handler that reads a pipe", self.request("/read"), ("syscall",), culprit=handler, loop=loop),
        ]


class Erlang(HTTPProgram):
    name = "erlang"
    needs = ("erl", "erlc")
    no_stalls = "its schedulers run other processes while one is blocked"

    @classmethod
    def prepare(cls, folder):
        subprocess.run(["erlc", "-o", folder, APPS / "web.erl"], check=True)

    def command(self):
        return ["erl", "-noshell", "-noinput", "-pa", self.home.parent, "-run", "web", "start", self.port]

    def converse(self, session):
        return session.get("/sleep").decode() + session.get("/compute").decode() + super().converse(session)


class Go(HTTPProgram):
    name = "go-static"
    needs = ("go",)
    no_stalls = "its scheduler runs other goroutines while one is blocked"

    @classmethod
    def prepare(cls, folder):
        environment = {**os.environ, "CGO_ENABLED": "0", "GO111MODULE": "off", "GOCACHE": str(folder / "go-cache")}
        subprocess.run(["go", "build", "-o", folder / "go-web", APPS / "web.go"], check=True, env=environment)

    def command(self):
        return [self.home.parent / "go-web", self.port]

    def converse(self, session):
        return session.get("/sleep").decode() + session.get("/compute").decode() + super().converse(session)


class MariaDB(Program):
    name, is_known = "mariadb", True
    user = "mysql"
    needs = ("mariadbd", "mariadb", "mariadb-slap", "setpriv")
    no_stalls = "one thread per connection; SLEEP blocks only that thread"

    def command(self):
        data = self.home / "data"
        subprocess.run(
            ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db", "--auth-root-authentication-method=normal", "--user=mysql"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        return ["mariadbd", "--no-defaults", f"--datadir={data}", f"--port={self.port}", "--bind-address=127.0.0.1", f"--socket={self.home}/socket",
                f"--pid-file={self.home}/pid", "--innodb-buffer-pool-size=32M", f"--log-error={self.home}/error.log"]

    def options(self):
        return ["--no-defaults", "--protocol=tcp", "--host=127.0.0.1", f"--port={self.port}", "--user=root"]

    def converse(self, session):
        return "".join(
            run_client(["mariadb", *self.options(), "-e", text], 10)
            for text in ("SELECT 1+1", "SELECT SLEEP(0.6)", "CREATE DATABASE IF NOT EXISTS talk", "CREATE OR REPLACE TABLE talk.t (a INT)", "INSERT INTO talk.t VALUES (1)", "SELECT * FROM talk.t")
        )

    def load(self, session, seconds):
        repeat_client(
            ["mariadb-slap", *self.options(), "--concurrency=4", "--number-of-queries=2000", "--auto-generate-sql", "--auto-generate-sql-load-type=read"], seconds
        )

    def is_ready(self, session):
        return session.accepts()


class PostgreSQL(Program):
    name, is_known = "postgresql", True
    user = "postgres"
    needs = ("setpriv", "psql", "/usr/lib/postgresql")
    no_stalls = "one process per connection: a query delays only its own client"

    def __init__(self, home, port):
        super().__init__(home, port)
        self.binaries = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]

    def command(self):
        data = self.home / "data"
        data.mkdir()
        shutil.chown(data, "postgres", "postgres")
        subprocess.run(
            ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", self.binaries / "initdb", "-D", data, "-A", "trust", "-N"],
            check=True, stdout=subprocess.DEVNULL, cwd="/",
        )
        return [self.binaries / "postgres", "-D", data, "-p", self.port, "-h", "127.0.0.1", "-k", ""]

    def options(self):
        return ["-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres"]

    def is_ready(self, session):
        return subprocess.run([self.binaries / "pg_isready", "-q", *self.options()]).returncode == 0

    def converse(self, session):
        return "".join(
            run_client(["psql", "-X", *self.options(), "-c", text], 10)
            for text in ("SELECT 1+1", "SELECT pg_sleep(0.6)", "CREATE TABLE t AS SELECT a, a * 2 AS b FROM generate_series(1, 1000) a", "CREATE INDEX ON t (a)", "SELECT count(*) FROM t")
        )

    def load(self, session, seconds):
        # Only short queries: a backend that computes for long is rightly reported.
        script = self.write("load.sql", "\\set n random(1, 1000)\nSELECT b FROM t WHERE a = :n;\n")
        run_client([str(self.binaries / "pgbench"), "-n", "-f", str(script), "-c", "4", "-T", str(max(1, round(seconds))), *self.options(), "postgres"], seconds)


class PostgreSQLOfOtherUser(PostgreSQL):
    """lagmond runs as root, and starts the server as another user, as in containers with gosu or setpriv."""

    name, is_known = "postgresql-setpriv", False
    # From outside lagmond polls each process 14 times a second.
    idle_limit = 0.01
    user = None

    def command(self):
        return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *super().command()]


PROGRAMS = (MariaDB, PostgreSQL, PostgreSQLOfOtherUser, ApachePrefork, ApacheEvent, PhpFpm, Puma, JavaPool, JavaDispatcher, Erlang, Go)
