"""Receivers of lines that misbehave on request."""
import http.server
import json
import os
import socket
import socketserver
import threading
import time


class StreamReader:
    """Reads lines from TCP connections, slowly while `is_slow` is set."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=8)
        self.address = f"tcp:127.0.0.1:{self.listener.getsockname()[1]}"
        self.data, self.is_slow, self.half_closes = [], threading.Event(), threading.Event()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            # A small window, so that the sender notices a slow reader.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            data = bytearray()
            self.data.append(data)
            threading.Thread(target=self.read, args=(connection, data), daemon=True).start()

    def read(self, connection, data):
        with connection:
            while True:
                if self.half_closes.is_set():
                    self.half_closes.clear()
                    connection.shutdown(socket.SHUT_WR)
                try:
                    received = connection.recv(256 if self.is_slow.is_set() else 65536)
                except OSError:
                    return
                if not received:
                    return
                data += received
                if self.is_slow.is_set():
                    time.sleep(0.05)

    def content(self):
        """The received lines of all connections, without lines that were truncated at the end of a connection."""
        return b"".join(bytes(data[: data.rfind(b"\n") + 1]) for data in self.data)

    def close(self):
        self.listener.close()


class Collector:
    """A receiver of OTLP over HTTP. `answer` determines its response to a request: a status, or "hang", "redirect", "huge"."""

    def __init__(self, answer=200):
        self.answer, self.taken, self.requests = answer, [], 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.requests += 1
                answer = outer.answer
                if answer == "hang":
                    time.sleep(30)
                    return
                if answer == "huge":
                    # The response's status is 200, and a fast client may read a gigabyte within its time limit, so the body counts as received.
                    outer.taken.append(body)
                    outer.flood(self)
                    return
                status = 302 if answer == "redirect" else answer
                if status == 200:
                    outer.taken.append(body)
                self.send_response(status)
                if answer == "redirect":
                    self.send_header("Location", self.path)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            do_GET = do_POST

            def log_message(self, *_):
                pass

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.address = f"otlp:http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @staticmethod
    def flood(handler):
        """Sends a response with a body of a gigabyte."""
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        block = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
        try:
            for _ in range(1024):
                handler.wfile.write(block)
        except OSError:
            pass
        handler.close_connection = True

    def records(self):
        """The log records that were accepted."""
        return [
            record
            for body in self.taken
            for resource in json.loads(body)["resourceLogs"]
            for scope in resource["scopeLogs"]
            for record in scope["logRecords"]
        ]

    def stalls(self):
        """The ids of the stalls."""
        found = set()
        for record in self.records():
            values = {item["key"]: next(iter(item["value"].values())) for item in record["attributes"]}
            if record["eventName"] == "lagmonitor.stall":
                found.add(values["lagmonitor.id"])
        return found

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Journal:
    """journald's socket. `read` reads the entries that were sent; `shut` reads the rest before it closes the socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.socket.setblocking(False)
        os.chmod(path, 0o666)
        self.stalls = set()

    def read(self):
        while True:
            try:
                entry, descriptors, *_ = socket.recv_fds(self.socket, 1 << 20, 1)
            except BlockingIOError:
                return
            if not entry and not descriptors:
                return
            for descriptor in descriptors:
                entry += os.pread(descriptor, 1 << 20, 0)
                os.close(descriptor)
            for field in entry.split(b"\n"):
                if field.startswith(b"LAGMONITOR_ID="):
                    self.stalls.add(field)

    def shut(self):
        self.socket.shutdown(socket.SHUT_RD)
        self.read()
        self.socket.close()
