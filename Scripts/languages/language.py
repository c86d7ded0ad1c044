"""What a language gives to Scripts/languages: programs that stall, and what is true of their stalls."""
import dataclasses
import pathlib
import re

HERE = pathlib.Path(__file__).parent
# In a comment of the source, at the end of each line that the function stalls in: "@stall NAME FUNCTION"; where versions of the language differ in
# what they call it, "FUNCTION|FUNCTION".
MARK = re.compile(r"@stall ([\w-]+) (.+?)\s*$")


@dataclasses.dataclass
class Scenario:
    """One kind of stall: the function that is to blame, and the lines of it that the stall is in."""

    name: str
    file: str
    functions: list
    lines: set

    @property
    def is_unseen(self):
        """A coin, thrown by the name alone: FNV-1a, 64 bits."""
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
    # Of the stalls, those that are also made under `lagmond attach`.
    attached = ()
    # How all of them are watched: `run` or `attach`.
    way = "run"

    def attach_options(self, process):
        """Of `lagmond attach`, beside the process."""
        return []

    def interpreters(self, folder):
        """Those that are here. `folder` is for what has to be compiled."""
        raise NotImplementedError

    def symbols(self, scenario):
        """What the culprit may be."""
        return [f"{function} ({scenario.file})" for function in scenario.functions]

    def is_wrong(self, frame):
        """Whether a frame of one of our sources names something that is not there. `frame` is of the record."""
        return False

    def scenarios(self):
        found = {}
        for source in self.sources:
            path = HERE / "programs" / source
            for number, line in enumerate(path.read_text().splitlines(), 1):
                mark = MARK.search(line)
                if not mark:
                    continue
                name, functions = mark.groups()
                scenario = found.setdefault(name, Scenario(name, path.name, functions.split("|"), set()))
                scenario.lines.add(number)
        return list(found.values())
