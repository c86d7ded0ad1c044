"""The base class of a language in Scripts/languages: its programs that stall, and the true function and line of their stalls."""
import dataclasses
import os
import pathlib
import re
import subprocess

HERE = pathlib.Path(__file__).parent
# Marks in comments of the sources. "@stall NAME FUNCTION", at the end of each line in which the function stalls; if versions of the language use different
# names for it, "FUNCTION|FUNCTION". "@owner NAME FUNCTION": the function in which the other thread holds the interpreter's lock.
MARK = re.compile(r"@(stall|owner) ([\w-]+) (.+?)\s*$")


@dataclasses.dataclass
class Scenario:
    """One kind of stall: the function that is to blame, and its lines in which the stall occurs."""

    name: str
    file: str
    functions: list
    lines: set
    # The function of the thread that holds the interpreter's lock; None: the stall is not a wait for this lock.
    owner: str = None

    @property
    def is_unseen(self):
        """Whether it belongs to the unseen half. A hash of the name decides: FNV-1a with 64 bits."""
        value = 0xCBF29CE484222325
        for byte in self.name.encode():
            value = (value ^ byte) * 0x100000001B3 % 2**64
        return value & 1 == 1


@dataclasses.dataclass
class Interpreter:
    """One program that runs the language, such as a version of it."""

    name: str
    # The first arguments; the scenario, rounds, the path for the true times, and the seconds of rest before the first stall are appended.
    command: list


class Language:
    """The base class of a language. A file language_NAME.py contains the subclass, and its instance LANGUAGE."""

    # As in frames[].language.
    name = ""
    # All files with marks, below `programs`.
    sources = ()
    # The stalls that also run under `lagmond attach`.
    attached = ()
    # How all stalls are watched: `run` or `attach`.
    way = "run"

    def attach_options(self, process):
        """The options of `lagmond attach`, besides the process."""
        return []

    # Whether its frames have lines.
    has_lines = True
    # Functions that exist without a declaration in a source.
    undeclared = ()

    def __init__(self):
        # The functions of each source, with their lines.
        self.functions = {}
        for source in self.sources:
            path = HERE / "programs" / source
            self.functions[path.name] = self.ranges(path.read_text())

    def ranges(self, text):
        """The functions of a source, by their names in records: [(first line, last line)], several if several functions have the same name."""
        raise NotImplementedError

    def interpreters(self, folder):
        """The installed interpreters. `folder` is for compiled programs."""
        raise NotImplementedError

    def installed(self, paths, *ask):
        """The installed programs among the paths, each version once. `ask`: the arguments that print the version."""
        versions = set()
        for path in paths:
            if not path or not os.access(path, os.X_OK):
                continue
            version = subprocess.run([path, *ask], capture_output=True, text=True).stdout.strip()
            if version not in versions:
                versions.add(version)
                yield path, version

    def symbols(self, scenario):
        """The culprits that are correct."""
        return [f"{function} ({scenario.file})" for function in scenario.functions]

    def function(self, symbol):
        """The function's name in `ranges`."""
        return symbol.rsplit(" (", 1)[0]

    def is_wrong(self, frame):
        """Whether a frame of the record names a function or line that one of the language's sources does not contain."""
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
