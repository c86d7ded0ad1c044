"""A loop that alternately stalls by sleeping and by computing; for durations.py. Prints for each stall, in nanoseconds of CLOCK_MONOTONIC: when it
entered the wait before the stall, when it left it, when it entered the wait after the stall, and when it left it."""
import select
import socket
import sys
import time

REST_SECONDS = 0.005
STALL_NANOSECONDS = 250_000_000
TURNS_BETWEEN = 60

now = time.monotonic_ns
epoll = select.epoll()
# Listens like a server: lagmond takes a child of the same program that waits only for the clock for a helper.
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
