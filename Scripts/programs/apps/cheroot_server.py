"""cheroot_server.py PORT"""
import sys

from cheroot.wsgi import Server
from wsgi import app

Server(("127.0.0.1", int(sys.argv[1])), app).safe_start()
