"""Loads a server over several connections, one request in flight on each: talk_load.py PORT SECONDS CONNECTIONS REQUEST END.

Each response ends with END. For a port like udp:53, requests are datagrams. Escapes are as in Python. Prints the number of responses."""
import select
import socket
import sys
import time

port, seconds, connections = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
request, end_of_answer = (text.encode().decode("unicode_escape").encode("latin-1") for text in sys.argv[4:6])
is_datagram = port.startswith("udp:")
address = ("127.0.0.1", int(port.removeprefix("udp:")))
poll = select.epoll()
sockets, pending = {}, {}
for _ in range(connections):
    connection = socket.socket(socket.AF_INET, socket.SOCK_DGRAM if is_datagram else socket.SOCK_STREAM)
    connection.connect(address)
    sockets[connection.fileno()] = connection
    pending[connection.fileno()] = b""
    poll.register(connection.fileno(), select.EPOLLIN)
    connection.sendall(request)
answers = 0
stop = time.monotonic() + seconds
while time.monotonic() < stop:
    for descriptor, _ in poll.poll(0.2):
        received = sockets[descriptor].recv(65536)
        if not received and not is_datagram:
            sys.exit("talk_load: the server closed a connection")
        pending[descriptor] = (pending[descriptor] + received)[-len(end_of_answer) - 65536:]
        if pending[descriptor].endswith(end_of_answer):
            pending[descriptor] = b""
            answers += 1
            sockets[descriptor].sendall(request)
print(answers)
if not answers:
    sys.exit("talk_load: no answer")
