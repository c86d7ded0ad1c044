"""PHP: the installed version."""
import re
import shutil

from language import HERE, Interpreter, Language

CLASS = re.compile(r"^(?:class|trait) (?P<name>\w+)")
BEGIN = re.compile(r"^(?P<indent> *)(?:public |private |static )*function (?P<name>\w+)\(")


class PHP(Language):
    name = "php"
    sources = ("stalls.php",)
    attached = ("sleep", "compute", "method", "json")
    undeclared = ("{main}", "{closure}", "Shop::{closure}")

    def interpreters(self, folder):
        for path, version in self.installed([shutil.which("php")], "-r", "echo PHP_VERSION;"):
            yield Interpreter(f"php-{version}", [path, str(HERE / "programs" / "stalls.php")])

    def ranges(self, text):
        lines = text.splitlines()
        ranges, owner = {}, ""
        for number, line in enumerate(lines, 1):
            if not line.startswith(" "):
                found = CLASS.match(line)
                owner = found["name"] if found else "" if line.startswith("function") else owner
            begin = BEGIN.match(line)
            if not begin:
                continue
            end = next(last for last in range(number + 1, len(lines) + 1) if lines[last - 1] == begin["indent"] + "}")
            # The functions of a trait belong to the classes that use it.
            for name in {"Priced": ["Priced", "Cart"]}.get(owner, [owner]):
                ranges.setdefault(f"{name}::{begin['name']}" if name else begin["name"], []).append((number, end))
        return ranges


LANGUAGE = PHP()
