"""The programs of Scripts/programs by name."""
import crowds
import daemons
import displays
import injected_daemons
import injected_networks
import injected_others
import injected_python
import injected_servers
import name_servers
import pools
import python_programs
import reloading
import scripted
import terminals

KINDS = (
    *daemons.PROGRAMS, *name_servers.PROGRAMS, *scripted.PROGRAMS, *python_programs.PROGRAMS, *pools.PROGRAMS, *crowds.PROGRAMS,
    *reloading.PROGRAMS, *displays.PROGRAMS, *terminals.PROGRAMS, *injected_servers.PROGRAMS, *injected_networks.PROGRAMS, *injected_others.PROGRAMS,
    *injected_daemons.PROGRAMS, *injected_python.PROGRAMS,
)
# Programs that are also measured with `lagmond attach`, which starts when they listen: single-threaded loops, pools, loops of several threads, one of
# another user, and one whose wait is deeper in the stack than its handlers.
ATTACHED = ("redis", "node", "tornado", "mosquitto", "memcached", "java-nio", "mariadb", "apache-event", "nim")

NAMES = {kind.name: (kind, "run") for kind in KINDS}
NAMES.update({f"{kind.name}-attach": (kind, "attach") for kind in KINDS if kind.name in ATTACHED})

# What QUICK=1 runs if no programs are named, within ten minutes: at least one for each way in which a loop waits, moves, is stalled or is watched, and for
# each kind of pool.
QUICK_NAMES = (
    # Loops of one thread: in C, as a module's or a script's host, and as asyncio, libuv, SwiftNIO and greenlets run them.
    "redis", "nginx", "haproxy", "lighttpd", "mojolicious", "prosody", "node", "swiftnio", "asyncio", "tornado", "uvicorn-uvloop", "gevent",
    # Blocked by a file that is read again, of another user (squid), with loops that wait for each other (named).
    "mosquitto", "dnsmasq", "squid", "unbound", "named",
    # Blocked by the preloaded library: loops of several threads, of several processes, datagrams, a Unix socket, a wait deeper than its handlers.
    "memcached", "nsd", "snmpd", "bird", "nim",
    # Two waits by turns, a parent that wakes by itself, a stack that moves.
    "gunicorn-sync", "uvicorn-workers", "java-nio",
    # Pools and schedulers.
    "mariadb", "postgresql", "postgresql-setpriv", "apache-prefork", "apache-event", "php-fpm", "gunicorn-gthread", "celery-prefork", "puma", "java-pool",
    "erlang", "go-static", "apache-prefork-100", "postgresql-100",
    # On a display or terminal: round trips deep in the stack before the loop runs, loops within loops.
    "gtk3", "qt5", "qt5-no-glib", "chromium", "vim", "emacs", "bash", "tmux",
    # From outside: a loop of one thread, loops of several threads, a pool.
    "redis-attach", "memcached-attach", "mariadb-attach",
)
