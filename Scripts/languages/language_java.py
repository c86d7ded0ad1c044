"""Java: HotSpot, whose compiled methods have names by a perf map that the program has it write."""
import re
import shutil
import subprocess

from language import HERE, Interpreter, Language

BEGIN = re.compile(r"^    (?:static )?(?:[\w\[\]]+) (?P<name>\w+)\(.*\{")


class Java(Language):
    name = "java"
    sources = ("Stalls.java",)
    has_lines = False

    def interpreters(self, folder):
        compiler = shutil.which("javac")
        for path, version in self.installed([shutil.which("java") if compiler and shutil.which("jcmd") else None], "--version"):
            subprocess.run([compiler, "-d", str(folder), str(HERE / "programs" / "Stalls.java")], check=True)
            # What was put into another method has no name of its own in a perf map.
            options = ["-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Stalls.*"]
            yield Interpreter(f"java-{version.split()[1]}", [path, *options, "-cp", str(folder), "Stalls"])

    def ranges(self, text):
        lines = text.splitlines()
        ranges = {}
        for number, line in enumerate(lines, 1):
            begin = BEGIN.match(line)
            if begin:
                end = number if line.rstrip().endswith("}") else lines.index("    }", number) + 1
                ranges.setdefault(f"Stalls.{begin['name']}", []).append((number, end))
        return ranges

    def symbols(self, scenario):
        return scenario.functions

    def is_wrong(self, frame):
        """Of a perf map no file is known: each name of the class is looked at."""
        symbol = frame.get("symbol") or ""
        return symbol.startswith("Stalls.") and symbol not in self.functions["Stalls.java"]


LANGUAGE = Java()
