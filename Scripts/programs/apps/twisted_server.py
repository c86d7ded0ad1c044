"""twisted_server.py PORT"""
import sys

from blocking import block
from twisted.internet import reactor
from twisted.web import resource, server


class Page(resource.Resource):
    isLeaf = True

    def render_GET(self, request):
        block(request.path.decode())
        return b"hello\n"


reactor.listenTCP(int(sys.argv[1]), server.Site(Page()), interface="127.0.0.1")
reactor.run()
