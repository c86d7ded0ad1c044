"""Python's built-in server, which handles one request after another: wsgiref_server.py PORT."""
import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server

from wsgi import app


class Handler(WSGIRequestHandler):
    def log_message(self, *words):
        pass


make_server("127.0.0.1", int(sys.argv[1]), app, handler_class=Handler).serve_forever()
