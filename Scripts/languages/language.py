"""The interface of a language in Scripts/languages: programs that stall, and the truth about their stalls."""
import dataclasses
import os
import pathlib
import re
import subprocess

HERE = pathlib.Path(__file__).parent
# In a comment of the source, at the end of each line that the function stalls in: "@stall NAME FUNCTION"; where versions of the language differ in
# what they call it, "FUNCTION|FUNCTION". "@owner NAME FUNCTION": what the thread does that keeps the interpreter's lock meanwhile.
MARK = re.compile(r"@(stall|owner) ([\w-]+) (.+?)\s*$")


@dataclasses.dataclass
class Scenario:
    """One kind of stall: the function that is to blame, and the lines of it that the stall is in."""

    name: str
    file: str
    functions: list
    lines: set
    # For the thread that holds the interpreter's lock; None: the stall is not a wait for it.
    owner: str = None

    @property
    def is_unseen(self):
        """A coin toss that only depends on the name: FNV-1a, 64 bits."""
        value = 0xCBF29CE484222325
        for byte in self.name.encode():
            value = (value ^ byte) * 0x100000001B3 % 2**64
        return value & 1 == 1


@dataclasses.dataclass
class Interpreter:
    """One program that runs the language, such as a version of it."""

    name: str
    # Argument list; scenario, rounds, the truth's path and the seconds of rest before the first stall follow.
    command: list


class Language:
    """To be derived from, in a file language_NAME.py, with an instance LANGUAGE."""

    # As frames[].language has it.
    name = ""
    # Below `programs`: every file that has marks.
    sources = ()
    # The stalls that are also made under `lagmond attach`.
    attached = ()
    # How all of them are watched: `run` or `attach`.
    way = "run"

    def attach_options(self, process):
        """Of `lagmond attach`, beside the process."""
        return []

    # Whether its frames have lines at all.
    has_lines = True
    # Functions that no line of a source declares.
    undeclared = ()

    def __init__(self):
        # For each source, its functions with their lines.
        self.functions = {}
        for source in self.sources:
            path = HERE / "programs" / source
            self.functions[path.name] = self.ranges(path.read_text())

    def ranges(self, text):
        """Of each function in a source, by the name that records have for it: [(first line, last line)], several where several have it."""
        raise NotImplementedError

    def interpreters(self, folder):
        """The interpreters that are installed. `folder` is for compiled programs."""
        raise NotImplementedError

    def installed(self, paths, *ask):
        """The installed ones of these programs, each version once. `ask`: the arguments that print the version."""
        versions = set()
        for path in paths:
            if not path or not os.access(path, os.X_OK):
                continue
            version = subprocess.run([path, *ask], capture_output=True, text=True).stdout.strip()
            if version not in versions:
                versions.add(version)
                yield path, version

    def symbols(self, scenario):
        """What the culprit may be."""
        return [f"{function} ({scenario.file})" for function in scenario.functions]

    def function(self, symbol):
        """What `ranges` calls it."""
        return symbol.rsplit(" (", 1)[0]

    def is_wrong(self, frame):
        """Whether a frame of one of our sources names something that is not there. `frame` is of the record."""
        ranges = self.functions.get(pathlib.Path(frame.get("file") or "").name)
        symbol = frame.get("symbol")
        if ranges is None or symbol is None:
            return False
        function = self.function(symbol)
        if function not in ranges:
            return function not in self.undeclared
        line = frame.get("line")
        return line is not None and not any(first <= line <= last for first, last in ranges[function])

    def scenarios(self):
        found = {}
        for source in self.sources:
            path = HERE / "programs" / source
            for number, line in enumerate(path.read_text().splitlines(), 1):
                mark = MARK.search(line)
                if not mark:
                    continue
                kind, name, functions = mark.groups()
                scenario = found.setdefault(name, Scenario(name, path.name, [], set()))
                if kind == "owner":
                    scenario.owner = functions
                else:
                    scenario.functions = functions.split("|")
                    scenario.lines.add(number)
        return list(found.values())
