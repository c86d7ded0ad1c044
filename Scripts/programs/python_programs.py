"""Servers in Python, most from PyPI: asyncio, uvloop, tornado, twisted, trio, werkzeug, Django, gevent, gunicorn, uvicorn, celery and more."""
import dataclasses
import os
import socket
import subprocess
import time

from harness import run_client
from program import APPS, PYTHON, HandlersOfOurs, Program
from stalls import blocking_stalls

# The Python frame of the function that blocks (apps/blocking.py), which the record has in place of the interpreter's own frames.
BLOCK = r"block \(blocking\.py\)"


class PythonWeb(HandlersOfOurs):
    needs = (PYTHON,)

    def environment(self):
        return {**super().environment(), "PYTHONPATH": str(APPS), "PYTHONDONTWRITEBYTECODE": "1"}

    # More paths of requests whose handlers block.
    others = ()

    def stalls(self):
        return blocking_stalls(self.request, {"/compute": BLOCK, "/wait": BLOCK, "/lock": BLOCK, "/child": BLOCK, **dict.fromkeys(self.others, BLOCK)}, BLOCK)


class SynchronousWeb(PythonWeb):
    # Handlers can also block by running an event loop, because the server itself does not run in one.
    others = ("/loop",)


class Asyncio(PythonWeb):
    name, is_known = "asyncio", True

    def command(self):
        return ["/usr/bin/python3", APPS / "asyncio_server.py", self.port]


class ThreadsWeb(PythonWeb):
    no_stalls = "its handlers block threads of a pool; the loop that accepts continues"

    def stalls(self):
        return []

    def converse(self, session):
        # A blocked pool thread delays no other client, and is not a stall.
        session.get("/sleep")
        return super().converse(session)


class Script(PythonWeb):
    """A server in apps/NAME_server.py."""

    def command(self):
        return [PYTHON, APPS / f"{self.name}_server.py", self.port]


class Tornado(Script):
    name, is_known = "tornado", True
    packages = ("tornado",)


class Gevent(Script):
    name = "gevent"
    packages = ("gevent",)


class AIOHTTP(Script):
    name = "aiohttp"
    packages = ("aiohttp",)


class Twisted(Script):
    name, is_known = "twisted", True
    packages = ("twisted",)


class Sanic(Script):
    name = "sanic"
    packages = ("sanic",)


class Eventlet(Script):
    name = "eventlet"
    packages = ("eventlet",)


class Trio(Script):
    name = "trio"
    packages = ("trio",)


class WSGIRef(SynchronousWeb, Script):
    name, is_known = "wsgiref", True


class Werkzeug(SynchronousWeb, Script):
    name, is_known = "werkzeug", True
    packages = ("werkzeug",)


class Django(SynchronousWeb):
    name = "django"
    packages = ("django",)

    def command(self):
        return [PYTHON, APPS / "django_server.py", "runserver", "--nothreading", "--noreload", "--skip-checks", f"127.0.0.1:{self.port}"]


class Uvicorn(PythonWeb):
    name = "uvicorn"
    packages = ("uvicorn",)
    options = ("--loop", "asyncio")

    def command(self):
        return [PYTHON, "-m", "uvicorn", "asgi:app", "--port", self.port, "--log-level", "error", *self.options]


class UvicornUvloop(Uvicorn):
    name = "uvicorn-uvloop"
    packages = ("uvloop",)
    options = ("--loop", "uvloop")


class UvicornWorkers(Uvicorn):
    name, is_known = "uvicorn-workers", True
    # Two workers and their parent wake ten times a second each.
    idle_limit = 0.01
    # Its parent kills a worker that does not answer it for five seconds.
    hang_path = ""
    options = ("--loop", "asyncio", "--workers", "2")

    def is_ready(self, session):
        # Each worker takes a second to start, but its parent listens from the start.
        return session.accepts() and time.monotonic() > self.begun + 2.5

    def command(self):
        self.begun = time.monotonic()
        return super().command()


class Gunicorn(PythonWeb):
    packages = ("gunicorn",)
    options = ()

    def command(self):
        return [PYTHON, "-m", "gunicorn", "--bind", f"127.0.0.1:{self.port}", "--log-level", "critical", *self.options, "wsgi:app"]


class GunicornSync(SynchronousWeb, Gunicorn):
    name, is_known, servers = "gunicorn-sync", True, 2
    options = ("--workers", "2")


class GunicornThreads(ThreadsWeb, Gunicorn):
    name, is_known = "gunicorn-gthread", True
    options = ("--workers", "1", "--threads", "4")


class Cheroot(ThreadsWeb, Script):
    name = "cheroot"
    packages = ("cheroot",)


class Waitress(ThreadsWeb):
    name = "waitress"
    packages = ("waitress",)

    def command(self):
        return [PYTHON, "-m", "waitress", "--threads", "16", "--listen", f"127.0.0.1:{self.port}", "wsgi:app"]


class Daphne(PythonWeb):
    name, is_known = "daphne", True
    packages = ("daphne",)

    def command(self):
        return [PYTHON, "-m", "daphne", "-b", "127.0.0.1", "-p", self.port, "-v", "0", "asgi:app"]


class Hypercorn(PythonWeb):
    name = "hypercorn"
    packages = ("hypercorn",)

    def command(self):
        return [PYTHON, "-m", "hypercorn", "--bind", f"127.0.0.1:{self.port}", "--log-level", "critical", "asgi:app"]


class Celery(Program):
    needs = (PYTHON, "redis-server")
    packages = ("celery", "redis")
    pool = ()

    def __init__(self, home, port):
        super().__init__(home, port)
        self.broker = None
        self.fifo = home / "fifo"

    def environment(self):
        return {"PYTHONPATH": str(APPS), "PYTHONDONTWRITEBYTECODE": "1", "BROKER": f"redis://127.0.0.1:{self.port}/0", "FIFO": str(self.fifo)}

    def command(self):
        os.mkfifo(self.fifo)
        self.broker = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""], cwd=self.home, stdout=subprocess.DEVNULL
        )
        return [PYTHON, "-m", "celery", "-A", "tasks", "worker", "--loglevel", "WARNING", "--without-mingle", "--without-gossip",
                "-n", "worker@localhost", *self.pool]

    def is_ready(self, session):
        # Ready when a connection waits for tasks: celery logs its readiness only at a level at which it logs everything.
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"CLIENT LIST\r\n")
                return b"cmd=brpop" in connection.recv(65536)
        except OSError:
            return False

    def client(self, path, seconds=0):
        environment = {**os.environ, **self.environment()}
        command = ["env", *(f"{key}={environment[key]}" for key in self.environment()), PYTHON, str(APPS / "celery_client.py"), str(seconds), path]
        return run_client(command, seconds)

    def converse(self, session):
        return "".join(self.client("/") for _ in range(2))

    def load(self, session, seconds):
        self.client("/", max(1, seconds - 1))

    def clean_up(self):
        if self.broker:
            self.broker.terminate()
            self.broker.wait()


class CelerySolo(Celery):
    name, is_known = "celery-solo", True
    pool = ("--pool", "solo")

    def stalls(self):
        stalls = blocking_stalls(lambda path: lambda session: self.block(path), {"/compute": BLOCK, "/read": ""}, BLOCK)
        # The request passes through the broker, and the client polls for the result.
        return [dataclasses.replace(stall, way_seconds=0.5) for stall in stalls]

    def block(self, path):
        # The client takes half a second to start, so it prints the time of its request.
        asked, ended = self.client(path).split()[-2:]
        return float(asked), float(ended)


class CeleryPrefork(Celery):
    name, is_known = "celery-prefork", True
    pool = ("--pool", "prefork", "--concurrency", "2")
    no_stalls = "its tasks block processes of a pool; the loop that distributes them continues"

    def converse(self, session):
        self.client("/sleep")
        return super().converse(session)


class UWSGI(PythonWeb):
    name = "uwsgi"
    needs = ("uwsgi", "/usr/lib/uwsgi/plugins/python3_plugin.so")
    # Its log contains the duration of its start.
    output_is_same = False

    def command(self):
        return ["uwsgi", "--plugin", "python3", "--http-socket", f"127.0.0.1:{self.port}", "--module", "wsgi:app", "--chdir", APPS, "--need-app",
                "--die-on-term", "--disable-logging"]

    def stalls(self):
        # Its interpreter is in a plugin, so the record contains the interpreter's native frames.
        return blocking_stalls(self.request, culprit=BLOCK)


PROGRAMS = (
    UWSGI, Asyncio, UvicornWorkers, GunicornThreads, GunicornSync, Uvicorn, UvicornUvloop, Tornado, Gevent, CelerySolo, CeleryPrefork,
    AIOHTTP, Twisted, Trio, Sanic, Eventlet, WSGIRef, Werkzeug, Django, Cheroot, Waitress, Daphne, Hypercorn,
)
