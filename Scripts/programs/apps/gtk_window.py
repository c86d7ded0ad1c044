"""A GTK window that blocks when the key s, c, r or h is pressed, and prints the start and end of each stall."""
import sys
import time

import gi

gi.require_version("Gtk", "3.0")
from blocking import block  # noqa: E402
from gi.repository import GLib, Gtk  # noqa: E402

PATHS = {"s": "/sleep", "c": "/compute", "r": "/read", "h": "/hang"}


def pressed(_, event):
    begun = time.monotonic()
    block(PATHS.get(event.string, "/"))
    label.set_text(f"{event.string} pressed")
    print(f"done {event.string} {begun} {time.monotonic()}", flush=True)


window = Gtk.Window(title="programs-gtk")
label = Gtk.Label(label="press a key")
window.add(label)
window.connect("key-press-event", pressed)
window.connect("map-event", lambda *_: print("ready", flush=True))
GLib.unix_signal_add(GLib.PRIORITY_HIGH, 15, Gtk.main_quit)
window.show_all()
Gtk.main()
sys.exit(3)
