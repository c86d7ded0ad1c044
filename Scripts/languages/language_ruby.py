"""Ruby: the one that is installed."""
import os
import pathlib
import re
import shutil
import subprocess

from language import HERE, Interpreter, Language

BEGIN = re.compile(r"^(?P<indent> *)def (?:self\.)?(?P<name>\w+[?!]?)")
# What Ruby's own traces put before the name of a method.
PREFIXES = re.compile(r"^(?:(?:block(?: \(\d+ levels\))?|rescue|ensure) in )+")
ELSEWHERE = {"<main>", "<class:Shop>", "<top (required)>"}


class Ruby(Language):
    name = "ruby"
    sources = ("stalls.rb",)
    attached = ("sleep", "compute", "method", "json")

    def interpreters(self, folder):
        path = shutil.which("ruby")
        if path and os.path.exists(path):
            version = subprocess.run([path, "-e", "print RUBY_VERSION"], capture_output=True, text=True).stdout
            yield Interpreter(f"ruby-{version}", [path, str(HERE / "programs" / "stalls.rb")])

    def __init__(self):
        self.functions = {}
        for source in self.sources:
            path = HERE / "programs" / source
            lines = path.read_text().splitlines()
            ranges = {}
            for number, line in enumerate(lines, 1):
                begin = BEGIN.match(line)
                if not begin:
                    continue
                is_short = re.match(r" *def [\w.?!]+(\(.*\))? = ", line)
                end = number if is_short else next(
                    last for last in range(number + 1, len(lines) + 1) if lines[last - 1] == begin["indent"] + "end"
                )
                ranges.setdefault(begin["name"], []).append((number, end))
            self.functions[path.name] = ranges

    def is_wrong(self, frame):
        ranges = self.functions.get(pathlib.Path(frame.get("file") or "").name)
        symbol = frame.get("symbol")
        if ranges is None or symbol is None:
            return False
        function = PREFIXES.sub("", symbol.rsplit(" (", 1)[0])
        if function not in ranges:
            return function not in ELSEWHERE
        line = frame.get("line")
        return line is not None and not any(first <= line <= last for first, last in ranges[function])


LANGUAGE = Ruby()
