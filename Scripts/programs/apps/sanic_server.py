"""sanic_server.py PORT"""
import sys

from blocking import block
from sanic import Sanic, text

server = Sanic("server", configure_logging=False)


@server.get("/<path:path>")
async def answer(request, path):
    block(request.path)
    return text("hello\n")


if __name__ == "__main__":
    server.run("127.0.0.1", int(sys.argv[1]), single_process=True, access_log=False, motd=False)
