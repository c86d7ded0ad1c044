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
