"""gevent's own server, without monkey patching: gevent_server.py PORT."""
import sys

import gevent.pywsgi
from wsgi import app

gevent.pywsgi.WSGIServer(("127.0.0.1", int(sys.argv[1])), app, log=None).serve_forever()
