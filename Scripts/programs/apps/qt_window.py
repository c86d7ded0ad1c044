"""A Qt window that blocks when the key s, c, r or h is pressed, and prints the start and end of each stall."""
import signal
import socket
import sys
import time

from blocking import block
from PyQt5.QtCore import QSocketNotifier
from PyQt5.QtWidgets import QApplication, QLabel

PATHS = {"s": "/sleep", "c": "/compute", "r": "/read", "h": "/hang"}


class Window(QLabel):
    def keyPressEvent(self, event):
        begun = time.monotonic()
        block(PATHS.get(event.text(), "/"))
        self.setText(f"{event.text()} pressed")
        print(f"done {event.text()} {begun} {time.monotonic()}", flush=True)

    def showEvent(self, event):
        print("ready", flush=True)


app = QApplication(sys.argv)
# Python runs its signal handler only when it executes Python code, so the signal must wake Qt.
inner, outer = socket.socketpair()
outer.setblocking(False)
signal.set_wakeup_fd(outer.fileno())
signal.signal(signal.SIGTERM, lambda *_: None)
notifier = QSocketNotifier(inner.fileno(), QSocketNotifier.Read)
notifier.activated.connect(lambda *_: app.exit(3))
window = Window("press a key")
window.setWindowTitle("programs-qt")
window.show()
sys.exit(app.exec_())
