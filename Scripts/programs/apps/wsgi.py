"""For gunicorn and gevent's server."""
from blocking import block


def app(environ, start_response):
    block(environ["PATH_INFO"])
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "6")])
    return [b"hello\n"]
