"""Ruby: the installed version."""
import re
import shutil

from language import HERE, Interpreter, Language

BEGIN = re.compile(r"^(?P<indent> *)def (?:self\.)?(?P<name>\w+[?!]?)")
# The prefixes that Ruby's backtraces add to a method's name.
PREFIXES = re.compile(r"^(?:(?:block(?: \(\d+ levels\))?|rescue|ensure) in )+")


class Ruby(Language):
    name = "ruby"
    sources = ("stalls.rb",)
    attached = ("sleep", "compute", "method", "json")
    undeclared = ("<main>", "<class:Shop>", "<top (required)>")

    def interpreters(self, folder):
        for path, version in self.installed([shutil.which("ruby")], "-e", "print RUBY_VERSION"):
            yield Interpreter(f"ruby-{version}", [path, str(HERE / "programs" / "stalls.rb")])

    def ranges(self, text):
        lines = text.splitlines()
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
        return ranges

    def function(self, symbol):
        return PREFIXES.sub("", super().function(symbol))


LANGUAGE = Ruby()
