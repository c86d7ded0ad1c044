"""A loop that stalls asleep and computing by turns, and prints of each stall, in nanoseconds of CLOCK_MONOTONIC: when it last went to wait before,
when it came from there, when it went to wait again, and when it came from there; for durations.py."""
import select
import socket
import sys
import time

REST_SECONDS = 0.005
STALL_NANOSECONDS = 250_000_000
TURNS_BETWEEN = 60

now = time.monotonic_ns
epoll = select.epoll()
# As a server: a child of the same program that waits for nothing but the clock is taken for a helper.
listener = socket.create_server(("127.0.0.1", 0))
epoll.register(listener, select.EPOLLIN)
stalls = int(sys.argv[1])


def turn():
    went = now()
    epoll.poll(REST_SECONDS)
    return went, now()


for number in range(stalls):
    for _ in range(TURNS_BETWEEN):
        before, begin = turn()
    if number % 2 == 0:
        time.sleep(STALL_NANOSECONDS / 1e9)
    else:
        while now() < begin + STALL_NANOSECONDS:
            pass
    end, after = turn()
    print("sleeps" if number % 2 == 0 else "computes", before, begin, end, after, flush=True)
for _ in range(TURNS_BETWEEN):
    turn()
