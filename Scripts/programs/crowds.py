"""Servers with a hundred idle children: what they cost lagmond."""
import contextlib
import socket
import struct

from harness import receive_until
from pools import ApachePrefork, PostgreSQL, PostgreSQLOfOtherUser

CHILDREN = 100


class ApacheHundred(ApachePrefork):
    name = "apache-prefork-100"
    settings = f"StartServers {CHILDREN}\nMinSpareServers {CHILDREN}\nMaxSpareServers {2 * CHILDREN}\nServerLimit {2 * CHILDREN}\nMaxRequestWorkers {2 * CHILDREN}\n"


class PostgreSQLHundred(PostgreSQL):
    """A server process for each of a hundred clients that are connected, and request nothing, while it is idle."""

    name = "postgresql-100"

    def command(self):
        return [*super().command(), "-c", f"max_connections={CHILDREN + 20}"]

    @contextlib.contextmanager
    def idle_clients(self):
        with contextlib.ExitStack() as connections:
            for _ in range(CHILDREN):
                self.log_in(connections.enter_context(socket.create_connection(("127.0.0.1", self.port), timeout=10)))
            yield

    def log_in(self, connection):
        words = b"user\0postgres\0database\0postgres\0\0"
        connection.sendall(struct.pack("!II", len(words) + 8, 3 << 16) + words)
        # ReadyForQuery, idle
        receive_until(connection, b"Z\0\0\0\5I")


class PostgreSQLHundredOfOtherUser(PostgreSQLHundred, PostgreSQLOfOtherUser):
    """lagmond watches at most 16 processes from outside, and reports how many more there are."""

    name = "postgresql-setpriv-100"
    # 16 processes are polled from outside: 1.5 to 1.6 % of a processor, and 2.0 % while another program is loaded.
    idle_limit = 0.025


PROGRAMS = (ApacheHundred, PostgreSQLHundred, PostgreSQLHundredOfOtherUser)
