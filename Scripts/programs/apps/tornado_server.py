"""tornado_server.py PORT"""
import asyncio
import sys

import tornado.web
from blocking import block


class Handler(tornado.web.RequestHandler):
    def get(self, path):
        block(path)
        self.write("hello\n")


async def main():
    tornado.web.Application([(r"(/.*)", Handler)], log_function=lambda handler: None).listen(int(sys.argv[1]), "127.0.0.1")
    await asyncio.Event().wait()


asyncio.run(main())
