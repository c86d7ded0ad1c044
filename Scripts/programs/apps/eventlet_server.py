"""eventlet's own server: eventlet_server.py PORT."""
import sys

import eventlet.wsgi
from wsgi import app

eventlet.wsgi.server(eventlet.listen(("127.0.0.1", int(sys.argv[1]))), app, log_output=False)
