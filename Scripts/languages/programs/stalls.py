"""Stalls with a known function and line: stalls.py SCENARIO ROUNDS TRUTH LEAD. An event loop waits between the stalls, and LEAD seconds before the first.
Writes the start of each stall to TRUTH when it begins, and its end afterwards. STALL_SECONDS: the duration of each stall. TURN: a hard link to the TRUTH of
the program that stalls; programs that run at the same time stall one after another."""
import asyncio
import ctypes
import ctypes.util
import functools
import gc
import json
import os
import re
import select
import socket
import sqlite3
import subprocess
import sys
import threading
import time

SECONDS = float(os.environ.get("STALL_SECONDS", "0.35"))
LIBC = ctypes.CDLL(ctypes.util.find_library("c"))
# C functions that are called without releasing the interpreter's lock.
KEEPING_LIBC = ctypes.PyDLL(ctypes.util.find_library("c"))


def compute():
    end = time.monotonic() + SECONDS
    count = 0
    while time.monotonic() < end:  # @stall compute compute
        count += 1  # @stall compute compute
    return count


def sleep():
    time.sleep(SECONDS)  # @stall sleep sleep


def read_pipe():
    reader, writer = os.pipe()
    timer = threading.Timer(SECONDS, os.write, (writer, b"x"))
    timer.start()
    os.read(reader, 1)  # @stall pipe read_pipe
    timer.join()
    os.close(reader)
    os.close(writer)


def wait_for_lock():
    lock = threading.Lock()
    lock.acquire()
    timer = threading.Timer(SECONDS, lock.release)
    timer.start()
    lock.acquire()  # @stall lock wait_for_lock
    timer.join()


def keep_interpreter(started):
    started.append(True)
    KEEPING_LIBC.usleep(ctypes.c_uint(int(SECONDS * 1e6)))  # @owner gil keep_interpreter


def wait_for_interpreter():
    started = []
    thread = threading.Thread(target=keep_interpreter, args=(started,))
    thread.start()  # @stall gil wait_for_interpreter
    # On a busy machine the thread may start later.
    while not started:  # @stall gil wait_for_interpreter
        time.sleep(0.001)  # @stall gil wait_for_interpreter
    thread.join()  # @stall gil wait_for_interpreter


def add_up(started):
    started.append(True)
    sum(range(int(1.4e8 * SECONDS)))  # @owner gil-compute add_up


def wait_for_sum():
    started = []
    thread = threading.Thread(target=add_up, args=(started,))
    thread.start()  # @stall gil-compute wait_for_sum
    while not started:  # @stall gil-compute wait_for_sum
        time.sleep(0.001)  # @stall gil-compute wait_for_sum
    thread.join()  # @stall gil-compute wait_for_sum


def join_thread():
    thread = threading.Thread(target=time.sleep, args=(SECONDS,))
    thread.start()
    thread.join()  # @stall join join_thread


def descend(depth):
    if depth > 0:
        return descend(depth - 1) + 1
    time.sleep(SECONDS)  # @stall recursion descend
    return 0


def make_closure(seconds):
    def wait():
        time.sleep(seconds)  # @stall closure make_closure.<locals>.wait

    return wait


WAIT = lambda seconds: time.sleep(seconds)  # @stall lambda <lambda>


class Shop:
    def checkout(self):
        self.items = [self.price(number) for number in range(3)]

    def price(self, number):
        if number == 2:
            time.sleep(SECONDS)  # @stall method Shop.price
        return number

    @property
    def total(self):
        time.sleep(SECONDS)  # @stall property Shop.total
        return 1

    @staticmethod
    def audit():
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:  # @stall static-method Shop.audit
            pass

    def __del__(self):
        pass


def numbers():
    yield 1
    time.sleep(SECONDS)  # @stall generator numbers
    yield 2


def pages(depth):
    if depth > 0:
        return (yield from pages(depth - 1))
    time.sleep(SECONDS)  # @stall delegation pages
    yield 1


# Compilers use the word for functions that they have merged.
def merged():
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:  # @stall compiler-word merged
        pass


def rate(number):
    time.sleep(SECONDS)  # @stall database rate
    return number


def query_rates():
    database = sqlite3.connect(":memory:")
    database.create_function("rate", 1, rate)
    database.execute("select rate(1)").fetchall()
    database.close()


def sort_key(value):
    time.sleep(SECONDS / 2)  # @stall sort-key sort_key
    return value


def call_c():
    LIBC.usleep(ctypes.c_uint(int(SECONDS * 1e6)))  # @stall ctypes call_c


COMPARISON = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))


def compare(left, right):
    time.sleep(SECONDS)  # @stall callback compare
    return left[0] - right[0]


def sort_in_c():
    values = (ctypes.c_int * 2)(2, 1)
    LIBC.qsort(values, 2, ctypes.sizeof(ctypes.c_int), COMPARISON(compare))


def match():
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:  # @stall regex match
        re.match(r"(a+)+$", "a" * 20 + "b")  # @stall regex match


def serialise():
    values = [{"name": str(number), "values": list(range(20))} for number in range(2000)]
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:  # @stall json serialise
        json.dumps(values)  # @stall json serialise


def multiply():
    value = 3**200000
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:  # @stall big-number multiply
        value * value  # @stall big-number multiply


def collect():
    garbage = [[] for _ in range(300000)]
    for item in garbage:
        item.append(item)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:  # @stall gc collect
        gc.collect()  # @stall gc collect
    for item in garbage:
        item.clear()


def run_command():
    subprocess.run(["/bin/sleep", str(SECONDS)], check=True)  # @stall subprocess run_command


def retried(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)

    return wrapper


@retried
def decorated():
    time.sleep(SECONDS)  # @stall decorator decorated


def handle_error():
    try:
        raise ValueError
    except ValueError:
        time.sleep(SECONDS)  # @stall exception handle_error


def total_of_squares():
    end = time.monotonic() + SECONDS
    total = 0
    while time.monotonic() < end:  # @stall comprehension total_of_squares|total_of_squares.<locals>.<listcomp>
        total += len([number * number for number in range(300000)])  # @stall comprehension total_of_squares|total_of_squares.<locals>.<listcomp>
    return total


async def query_database():
    time.sleep(SECONDS)  # @stall async-sleep query_database


async def handle_request():
    await query_database()


async def render_page():
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:  # @stall async-compute render_page
        sum(range(1000))  # @stall async-compute render_page


async def rows():
    yield 1
    time.sleep(SECONDS)  # @stall async-generator rows
    yield 2


async def doubled_rows():
    async for row in rows():
        yield 2 * row


async def read_rows():
    return [row async for row in doubled_rows()]


class Connection:
    async def __aenter__(self):
        time.sleep(SECONDS)  # @stall async-context Connection.__aenter__
        return self

    async def __aexit__(self, *arguments):
        pass


async def use_connection():
    async with Connection():
        pass


PLAIN = {
    "compute": compute,
    "sleep": sleep,
    "pipe": read_pipe,
    "lock": wait_for_lock,
    "gil": wait_for_interpreter,
    "gil-compute": wait_for_sum,
    "join": join_thread,
    "recursion": lambda: descend(40),
    "closure": make_closure(SECONDS),
    "lambda": lambda: WAIT(SECONDS),
    "method": lambda: Shop().checkout(),
    "property": lambda: Shop().total,
    "static-method": Shop.audit,
    "generator": lambda: list(numbers()),
    "delegation": lambda: list(pages(20)),
    "compiler-word": merged,
    "database": query_rates,
    "sort-key": lambda: sorted([2, 1], key=sort_key),
    "ctypes": call_c,
    "callback": sort_in_c,
    "regex": match,
    "json": serialise,
    "big-number": multiply,
    "gc": collect,
    "subprocess": run_command,
    "decorator": decorated,
    "exception": handle_error,
    "comprehension": total_of_squares,
}
ASYNC = {"async-sleep": handle_request, "async-compute": render_page, "async-context": use_connection, "async-generator": read_rows}
RESTS = 25
REST_SECONDS = 0.02
TURN = os.environ.get("TURN")


def takes_turn():
    try:
        return not TURN or os.link(sys.argv[3], TURN) is None
    except FileExistsError:
        return False


def write_begin(truth):
    truth.write(f"{time.monotonic_ns()} ")
    truth.flush()


def write_end(truth):
    truth.write(f"{time.monotonic_ns()}\n")
    truth.flush()
    if TURN:
        os.unlink(TURN)


def rest(events, seconds):
    for _ in range(int(seconds / REST_SECONDS)):
        events.poll(REST_SECONDS)


def run_plain(stall, rounds, truth, lead):
    listener = socket.create_server(("127.0.0.1", 0))
    events = select.epoll()
    events.register(listener, select.EPOLLIN)
    rest(events, lead)
    for _ in range(rounds):
        rest(events, RESTS * REST_SECONDS)
        while not takes_turn():
            events.poll(REST_SECONDS)
        # A client waits during the stall.
        client = socket.create_connection(listener.getsockname())
        write_begin(truth)
        stall()
        write_end(truth)
        listener.accept()[0].close()
        client.close()
    rest(events, RESTS * REST_SECONDS)


async def run_async(stall, rounds, truth, lead):
    for _ in range(int(lead / REST_SECONDS)):
        await asyncio.sleep(REST_SECONDS)
    for _ in range(rounds):
        for _ in range(RESTS):
            await asyncio.sleep(REST_SECONDS)
        while not takes_turn():
            await asyncio.sleep(REST_SECONDS)
        write_begin(truth)
        await asyncio.create_task(stall())
        write_end(truth)
    for _ in range(RESTS):
        await asyncio.sleep(REST_SECONDS)


def main():
    name, rounds, lead = sys.argv[1], int(sys.argv[2]), float(sys.argv[4])
    with open(sys.argv[3], "w") as truth:
        if name in ASYNC:
            asyncio.run(run_async(ASYNC[name], rounds, truth, lead))
        else:
            run_plain(PLAIN[name], rounds, truth, lead)


main()
