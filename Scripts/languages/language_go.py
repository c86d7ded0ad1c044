"""Go: the installed compilers, each with an unstripped and a stripped program."""
import glob
import os
import re
import shutil
import subprocess

from language import HERE, Interpreter, Language

BEGIN = re.compile(r"^(?P<indent>\t*)(?:func (?:\((?P<receiver>\w+ \*?\w+)\) )?(?P<name>\w+)[\[(]|.*(?P<closure>func\())")


class Go(Language):
    name = "go"
    sources = ("stalls.go", "runtime.go")
    # lagmond watches only explicitly named threads of a Go program.
    way = "attach"

    def attach_options(self, process):
        return ["--loop", str(process)]

    def interpreters(self, folder):
        sources = [str(HERE / "programs" / source) for source in self.sources]
        for compiler, version in self.installed([shutil.which("go")] + sorted(glob.glob("/usr/lib/go-*/bin/go")), "env", "GOVERSION"):
            for kind, options in (("", []), ("-stripped", ["-ldflags=-s -w"])):
                program = folder / f"{version}{kind}"
                environment = {**os.environ, "GO111MODULE": "off", "GOFLAGS": "", "GOCACHE": str(folder / "go-cache")}
                subprocess.run([compiler, "build", *options, "-o", str(program), *sources], env=environment, check=True)
                yield Interpreter(f"go-{version.removeprefix('go')}{kind}", [str(program)])

    def ranges(self, text):
        lines = text.splitlines()
        ranges = {}
        outer, closures = "", 0
        for number, line in enumerate(lines, 1):
            begin = BEGIN.match(line)
            if not begin:
                continue
            end = next((last for last in range(number + 1, len(lines) + 1) if re.match(begin["indent"] + r"[})]", lines[last - 1])), number)
            if begin["closure"]:
                closures += 1
                name = f"{outer}.func{closures}" if outer else f"main.glob..func{closures}"
                end = number if line.rstrip().endswith("},") else end
                # Functions in the table of stalls.
                if line.startswith('\t"'):
                    name = None
            else:
                receiver = begin["receiver"] and begin["receiver"].split()[1]
                kind = f"(*{receiver[1:]})." if receiver and receiver[0] == "*" else f"{receiver}." if receiver else ""
                name = outer = f"main.{kind}{begin['name']}" + ("[...]" if f"{begin['name']}[" in line else "")
                closures = 0
            if name:
                ranges.setdefault(name, []).append((number, end))
        return ranges

    # For a method with a value receiver, the compiler also generates one with a pointer receiver.
    undeclared = ("main.(*shop).sell",)

    def symbols(self, scenario):
        return scenario.functions

    def function(self, symbol):
        return symbol

    def is_wrong(self, frame):
        return not (frame.get("symbol") or "").startswith(("main.init", "main.glob.")) and super().is_wrong(frame)


LANGUAGE = Go()
