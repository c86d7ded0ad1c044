"""Flask's development server, which handles one request after another: werkzeug_server.py PORT."""
import logging
import sys

from werkzeug.serving import run_simple
from wsgi import app

logging.getLogger("werkzeug").setLevel(logging.ERROR)
run_simple("127.0.0.1", int(sys.argv[1]), app)
