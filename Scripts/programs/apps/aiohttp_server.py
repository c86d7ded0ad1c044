"""aiohttp_server.py PORT"""
import sys

from aiohttp import web
from blocking import block


async def answer(request):
    block(request.path)
    return web.Response(text="hello\n")


server = web.Application()
server.router.add_get("/{path:.*}", answer)
web.run_app(server, host="127.0.0.1", port=int(sys.argv[1]), print=None, access_log=None)
