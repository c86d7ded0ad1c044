"""trio_server.py PORT"""
import sys

import trio
from blocking import block


async def serve(stream):
    async with stream:
        head = b""
        while b"\r\n\r\n" not in head:
            received = await stream.receive_some(65536)
            # The client has closed the connection, which it also does to see whether the server listens.
            if not received:
                return
            head += received
        block(head.split()[1].decode())
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n")


async def main():
    await trio.serve_tcp(serve, int(sys.argv[1]), host="127.0.0.1")


trio.run(main)
