"""A minimal HTTP server on asyncio: asyncio_server.py PORT."""
import asyncio
import sys

from blocking import block


async def handle(reader, writer):
    try:
        while request := await reader.readuntil(b"\r\n\r\n"):
            block(request.split()[1].decode())
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    writer.close()


async def main():
    server = await asyncio.start_server(handle, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())
