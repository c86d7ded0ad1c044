"""JavaScript in node: the installed node, and others from PyPI's wheels in NODES (paths, separated by colons)."""
import os
import re
import shutil

from language import HERE, Interpreter, Language

# Matches the beginning of a function. In the source, each function ends with a brace in the column in which it begins.
BEGIN = re.compile(
    r"^(?P<indent> *)(?:(?:async )?function\*? (?P<function>\w+)\(|(?:const |let )(?P<constant>\w+) = (?:async )?\(?[\w, ]*\)? =>"
    r"|\w+\.prototype\.(?P<prototype>\w+) = function|return function (?P<inner>\w+)\(|return .*\bfunction (?P<callback>\w+)\(|'?(?P<property>[\w-]+)'?: \(\) =>|(?:static |async )?(?P<method>(?:get )?\w+)\([\w, ]*\) \{$)"
)
NO_METHODS = {"if", "for", "while", "switch", "catch"}


class JavaScript(Language):
    name = "javascript"
    sources = ("stalls.js",)
    attached = ("compute", "atomics", "exec", "async-wait")

    def interpreters(self, folder):
        for path, version in self.installed([shutil.which("node")] + os.environ.get("NODES", "").split(":"), "--version"):
            yield Interpreter(f"node-{version.removeprefix('v')}", [path, str(HERE / "programs" / "stalls.js")])

    def ranges(self, text):
        lines = text.splitlines()
        ranges = {"<anonymous>": [(1, len(lines))]}
        for number, line in enumerate(lines, 1):
            begin = BEGIN.match(line)
            name = begin and next(filter(None, begin.groups()[1:]), None)
            if not name or name in NO_METHODS:
                continue
            end = number
            if not line.split("//")[0].rstrip().endswith(";"):
                end = next(last for last in range(number + 1, len(lines) + 1) if re.match(begin["indent"] + r"\}", lines[last - 1]))
            ranges.setdefault(name, []).append((number, end))
        return ranges


LANGUAGE = JavaScript()
