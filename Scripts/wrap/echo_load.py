"""Loads a line echo server over many connections, one line in flight on each: echo_load.py PORT SECONDS CONNECTIONS.

Prints the number of lines that came back, at the end of the time or at an interrupt."""
import os
import select
import signal
import socket
import sys
import time

port, seconds, connections = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
line = b"x" * 63 + b"\n"
poll = select.epoll()
sockets = {}
for _ in range(connections):
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sockets[connection.fileno()] = connection
    poll.register(connection.fileno(), select.EPOLLIN)
    connection.sendall(line)

def end(*_):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print(lines, flush=True)
    sys.exit()


lines = 0
signal.signal(signal.SIGINT, end)
begun = time.monotonic()
pending = dict.fromkeys(sockets, 0)
while time.monotonic() - begun < seconds:
    for descriptor, _ in poll.poll(1):
        # Uses read, because the kernel counts bytes of read(2), but not of recv(2) (harness.Load.answers).
        received = os.read(descriptor, 4096)
        if not received:
            sys.exit("echo_load: the server closed a connection")
        pending[descriptor] += len(received)
        if pending[descriptor] >= len(line):
            pending[descriptor] -= len(line)
            lines += 1
            sockets[descriptor].sendall(line)
end()
