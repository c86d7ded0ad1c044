"""Java: the installed HotSpot, and others in JAVAS (paths, separated by colons)."""
import os
import re
import shutil
import subprocess

from language import HERE, Interpreter, Language

BEGIN = re.compile(r"^    (?:public )?(?:static )?(?:[\w\[\]]+) (?P<name>\w+)\(.*\{")


class Java(Language):
    name = "java"
    sources = ("Stalls.java",)
    attached = ("sleep", "arithmetic", "lambda", "monitor")

    def interpreters(self, folder):
        compiler = shutil.which("javac")
        if not compiler:
            return
        subprocess.run([compiler, "--release", "11", "-d", str(folder), str(HERE / "programs" / "Stalls.java")], check=True)
        for path, version in self.installed([shutil.which("java")] + os.environ.get("JAVAS", "").split(":"), "--version"):
            yield Interpreter(f"java-{version.split()[1]}", [path, "-cp", str(folder), "Stalls"])

    def ranges(self, text):
        lines = text.splitlines()
        ranges = {}
        for number, line in enumerate(lines, 1):
            begin = BEGIN.match(line)
            if begin:
                end = number if line.rstrip().endswith("}") else lines.index("    }", number) + 1
                ranges.setdefault(f"Stalls.{begin['name']}", []).append((number, end))
        return ranges

    def function(self, symbol):
        """The name of a lambda consists of its enclosing method's name and a number."""
        return re.sub(r"\.lambda\$(\w+)\$\d+$", r".\1", symbol)

    def symbols(self, scenario):
        return scenario.functions


LANGUAGE = Java()
