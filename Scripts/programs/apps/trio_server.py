"""trio_server.py PORT"""
import sys

import trio
from blocking import block


async def serve(stream):
    async with stream:
        head = await stream.receive_some(65536)
        while b"\r\n\r\n" not in head:
            head += await stream.receive_some(65536)
        block(head.split()[1].decode())
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n")


async def main():
    await trio.serve_tcp(serve, int(sys.argv[1]), host="127.0.0.1")


trio.run(main)
