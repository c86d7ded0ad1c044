"""JavaScript in node: the one that is installed, and those of PyPI's wheels in NODES (paths, separated by colons)."""
import os
import pathlib
import re
import shutil
import subprocess

from language import HERE, Interpreter, Language

# Of a source whose functions end with a brace in the column that they begin in.
BEGIN = re.compile(
    r"^(?P<indent> *)(?:(?:async )?function\*? (?P<function>\w+)\(|(?:const |let )(?P<constant>\w+) = (?:async )?\(?[\w, ]*\)? =>"
    r"|return function (?P<inner>\w+)\(|return .*\bfunction (?P<callback>\w+)\(|'?(?P<property>[\w-]+)'?: \(\) =>|(?:static |async )?(?P<method>(?:get )?\w+)\([\w, ]*\) \{$)"
)
NO_METHODS = {"if", "for", "while", "switch", "catch"}


class JavaScript(Language):
    name = "javascript"
    sources = ("stalls.js",)
    attached = ("compute", "atomics", "exec", "async-wait")

    def interpreters(self, folder):
        paths = [shutil.which("node")] + os.environ.get("NODES", "").split(":")
        for path in paths:
            if path and os.access(path, os.X_OK):
                version = subprocess.run([path, "--version"], capture_output=True, text=True).stdout.strip().removeprefix("v")
                yield Interpreter(f"node-{version}", [path, str(HERE / "programs" / "stalls.js")])

    def __init__(self):
        self.functions = {}
        for source in self.sources:
            path = HERE / "programs" / source
            lines = path.read_text().splitlines()
            ranges = {"<anonymous>": [(1, len(lines))]}
            for number, line in enumerate(lines, 1):
                begin = BEGIN.match(line)
                name = begin and next(filter(None, begin.groups()[1:]), None)
                if not name or name in NO_METHODS:
                    continue
                end = number
                if not line.split("//")[0].rstrip().endswith(";"):
                    end = next(
                        last for last in range(number + 1, len(lines) + 1) if re.match(begin["indent"] + r"\}", lines[last - 1])
                    )
                ranges.setdefault(name, []).append((number, end))
            self.functions[path.name] = ranges

    def is_wrong(self, frame):
        ranges = self.functions.get(pathlib.Path(frame.get("file") or "").name)
        symbol = frame.get("symbol")
        if ranges is None or symbol is None:
            return False
        function = symbol.rsplit(" (", 1)[0]
        if function not in ranges:
            return True
        line = frame.get("line")
        return line is not None and not any(first <= line <= last for first, last in ranges[function])


LANGUAGE = JavaScript()
