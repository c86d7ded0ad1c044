"""The packages that programs of Scripts/programs need: Debian's, and from PyPI. Only those of the programs of a run are installed."""
import os
import pathlib
import subprocess
import sys

from program import PYTHON, has_command

# The Debian packages that contain a command or file, if the package does not have the command's name.
PACKAGES = {
    PYTHON: ("python3-venv",),
    # Swift's toolchain is no package of Debian.
    "swift": (),
    "/lib/systemd/systemd-journal-remote": ("systemd-journal-remote",),
    "/usr/bin/python3": ("python3",),
    "/usr/games/pioneers-server-console": ("pioneers-console",),
    "/usr/lib/nginx/modules/ngx_http_echo_module.so": ("libnginx-mod-http-echo",),
    "/usr/lib/postgresql": ("postgresql",),
    "/usr/lib/python3/dist-packages/PyQt5": ("python3-pyqt5",),
    "/usr/lib/uwsgi/plugins/python3_plugin.so": ("uwsgi-plugin-python3",),
    "/usr/lib/x86_64-linux-gnu/girepository-1.0/Gtk-3.0.typelib": ("python3-gi", "gir1.2-gtk-3.0"),
    "/usr/share/perl5/Mojolicious.pm": ("libmojolicious-perl",),
    "/usr/share/rubygems-integration/all/gems/webrick-1.8.1": ("ruby-webrick",),
    "aria2c": ("aria2",),
    "bird": ("bird2",),
    "cc": ("gcc", "libc6-dev"),
    "cgi-fcgi": ("libfcgi-bin",),
    "chronyc": ("chrony",),
    "chronyd": ("chrony",),
    "conserver": ("conserver-server",),
    "cupsd": ("cups-daemon",),
    "danted": ("dante-server",),
    "dbus-send": ("dbus-bin",),
    "dnsmasq": ("dnsmasq-base",),
    "emacs": ("emacs-nox",),
    "erl": ("erlang-base",),
    "erlc": ("erlang-base",),
    "gearmand": ("gearman-job-server",),
    "go": ("golang-go",),
    "groonga": ("groonga-bin",),
    "java": ("openjdk-17-jdk-headless",),
    "javac": ("openjdk-17-jdk-headless",),
    "knotd": ("knot",),
    "kresd": ("knot-resolver",),
    "lircd": ("lirc",),
    "mariadb": ("mariadb-client",),
    "mariadb-slap": ("mariadb-client",),
    "mariadbd": ("mariadb-server",),
    "minidlnad": ("minidlna",),
    "mosquitto_pub": ("mosquitto-clients",),
    "mosquitto_sub": ("mosquitto-clients",),
    "murmurd": ("mumble-server",),
    "named": ("bind9",),
    "nghttpd": ("nghttp2-server",),
    "nginx": ("nginx-light",),
    "node": ("nodejs",),
    "pdns_recursor": ("pdns-recursor",),
    "php": ("php-cli",),
    "php-fpm8.2": ("php8.2-fpm",),
    "psql": ("postgresql-client",),
    "qemu-storage-daemon": ("qemu-system-common",),
    "quasselcore": ("quassel-core",),
    "redis-benchmark": ("redis-tools",),
    "setpriv": ("util-linux",),
    "ss-server": ("shadowsocks-libev",),
    "sslh-select": ("sslh",),
    "supervisord": ("supervisor",),
    "syslog-ng": ("syslog-ng-core",),
    "tclsh": ("tcl",),
    "turnserver": ("coturn",),
    "unbound-control": ("unbound",),
    "uwsgi": ("uwsgi-core",),
    "varnishd": ("varnish",),
    "webfsd": ("webfs",),
    "Xtigervnc": ("tigervnc-standalone-server",),
    "Xvfb": ("xvfb",),
}

# Packages that cannot be installed together; the first one is left out of a run that needs both.
CONFLICTING = (("ngircd", "ircd-hybrid"),)


def all_of(kind, what):
    """The union of a class attribute over a class and its base classes."""
    return [word for base in kind.__mro__ for word in vars(base).get(what, ())]


def install(kinds):
    """Installs the packages that these programs need, without starting their services. What cannot be installed leaves out its programs."""
    needs = {need for kind in kinds for need in all_of(kind, "needs")}
    modules = sorted({package for kind in kinds for package in all_of(kind, "packages")})
    missing = {package for need in needs if not has_command(need) for package in PACKAGES.get(need, (need,))}
    for left_out, kept in CONFLICTING:
        if {left_out, kept} <= needs:
            missing.discard(left_out)
    scripts = pathlib.Path(__file__).resolve().parents[1]
    if missing:
        subprocess.run([scripts / "install-missing", "programs", *sorted(missing)], env={**os.environ, "ONE_BY_ONE": "1"}, stdout=sys.stderr, check=False)
    # Without PROGRAMS_PYTHON it is Debian's interpreter, whose packages are Debian's.
    if PYTHON not in needs or "PROGRAMS_PYTHON" not in os.environ:
        return
    environment = pathlib.Path(PYTHON).parents[1]
    pip = environment / "bin" / "pip"
    if not pip.exists():
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", environment], check=True, stdout=sys.stderr)
    # gunicorn needs `packaging` without requiring it.
    done = subprocess.run([pip, "install", "--quiet", "--disable-pip-version-check", "packaging", *modules], stdout=sys.stderr, check=False)
    if done.returncode != 0:
        print("programs: cannot install packages from PyPI", file=sys.stderr, flush=True)
