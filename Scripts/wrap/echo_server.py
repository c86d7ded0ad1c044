"""A line echo server on asyncio, for Scripts/wrap, whose handler blocks its loop on demand: echo_server.py PORT."""
import asyncio
import sys
import time


async def handle(reader, writer):
    while line := await reader.readline():
        if line == b"sleep\n":
            time.sleep(0.4)
        elif line == b"loop\n":
            end = time.monotonic() + 0.4
            while time.monotonic() < end:
                pass
        writer.write(line)
    writer.close()


async def main():
    server = await asyncio.start_server(handle, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())
