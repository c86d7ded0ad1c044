"""Perl: the installed version."""
import re
import shutil

from language import HERE, Interpreter, Language

BEGIN = re.compile(r"^sub (?P<name>\w+) \{")
PACKAGE = re.compile(r"^package (?P<name>\w+);")


class Perl(Language):
    name = "perl"
    sources = ("stalls.pl",)
    attached = ("sleep", "compute", "method", "json")
    undeclared = ("main::RUNTIME", "main::__ANON__", "main::BEGIN", "(eval)")

    def interpreters(self, folder):
        for path, version in self.installed([shutil.which("perl")], "-e", "printf '%vd', $^V"):
            yield Interpreter(f"perl-{version}", [path, str(HERE / "programs" / "stalls.pl")])

    def ranges(self, text):
        lines = text.splitlines()
        ranges, package = {}, "main"
        for number, line in enumerate(lines, 1):
            found = PACKAGE.match(line)
            package = found["name"] if found else package
            begin = BEGIN.match(line)
            if not begin:
                continue
            end = number if line.endswith("}") else next(
                last for last in range(number + 1, len(lines) + 1) if lines[last - 1] == "}"
            )
            ranges.setdefault(f"{package}::{begin['name']}", []).append((number, end))
        return ranges


LANGUAGE = Perl()
