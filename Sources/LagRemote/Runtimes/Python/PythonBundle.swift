internal import CLagLinux
internal import Glibc

/// A Python program bundled by PyInstaller: its file names contain no installation folders, so that `json/decoder.py` and
/// `shop/orders.py` look alike.
///
/// The part of Python's own library that it needs to start is in an archive beside the interpreter's library. Third-party
/// packages look like the program's own.
struct PythonBundle: Sendable {
    private static let archive = "base_library.zip"

    let process: Int32
    /// The file of the interpreter's library, with the process's path.
    let library: String

    /// Whether a function of that file belongs to Python's own library; nil: the file's name decides. The reporter: one look at the file system.
    func isLibrary(_ file: String) -> Bool? {
        guard !file.hasPrefix("/"), !file.hasPrefix("<"), Self.modules.contains(Self.module(of: file)) else { return nil }
        let folder = library.lastIndex(of: "/").map { library[...$0] } ?? ""
        return access("/proc/\(process)/root\(folder)\(Self.archive)", F_OK) == 0 ? true : nil
    }

    /// The first part of the name: `json` of `json/decoder.py`, `queue` of `queue.py`.
    private static func module(of file: String) -> String { String(file.prefix { $0 != "/" && $0 != "." }) }

    /// `sys.stdlib_module_names` of CPython 3.11 to 3.13, as far as they are written in Python.
    private static let modules = Set(
        """
        __future__ _aix_support _bootsubprocess _collections_abc _compat_pickle _compression _markupbase _osx_support _py_abc _pydatetime _pydecimal \
        _pyio _pylong _pyrepl _sitebuiltins _strptime _threading_local _weakrefset \
        abc aifc antigravity argparse ast asynchat asyncio asyncore base64 bdb bisect bz2 cProfile calendar cgi cgitb \
        chunk cmd code codecs codeop collections colorsys compileall concurrent configparser contextlib contextvars \
        copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils doctest email \
        encodings ensurepip enum filecmp fileinput fnmatch fractions ftplib functools genericpath getopt getpass \
        gettext glob graphlib gzip hashlib heapq hmac html http idlelib imaplib imghdr imp importlib inspect io \
        ipaddress json keyword lib2to3 linecache locale logging lzma mailbox mailcap mimetypes modulefinder \
        multiprocessing netrc nntplib ntpath nturl2path numbers opcode operator optparse os pathlib pdb pickle \
        pickletools pipes pkgutil platform plistlib poplib posixpath pprint profile pstats pty py_compile pyclbr pydoc \
        pydoc_data queue quopri random re reprlib rlcompleter runpy sched secrets selectors shelve shlex shutil signal \
        site smtpd smtplib sndhdr socket socketserver sqlite3 sre_compile sre_constants sre_parse ssl stat statistics \
        string stringprep struct subprocess sunau symtable sysconfig tabnanny tarfile telnetlib tempfile textwrap this \
        threading timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle turtledemo types typing \
        unittest urllib uu uuid venv warnings wave weakref webbrowser wsgiref xdrlib xml xmlrpc zipapp zipfile \
        zipimport zoneinfo
        """
        .split(separator: " ").map(String.init)
    )
}
