"""Writes the tables of docs/programs.md, and their sums in README.md, from the output of one whole run of Scripts/programs/run:

    PROGRAMS=all make -s programs >programs.out        # or with QUICK=1, too
    PYTHONPATH=Scripts/wrap python3 Scripts/programs/table.py programs.out

All lines are of one run; a program without a line is listed as such. Output from before 2026-12 does not begin with what identifies the run, and needs it
as a second argument: table.py programs.out "2026-11-30, commit a88cfa44, QUICK=1 PROGRAMS=all"."""
import pathlib
import re
import sys

import catalogue

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT, README = ROOT / "docs" / "programs.md", ROOT / "README.md"
BEGIN, END = "<!-- Written by Scripts/programs/table.py -->", "<!-- To here -->"
COLUMNS = {
    "loops": "loops", "stalls": "stalls", "found": "found", "false": "false", "actions": "actions", "acted": "hang acted on", "cpu_idle": "lagmond idle",
    "cpu_load": "lagmond loaded", "same": "as bare", "silent": "silent",
}
SUMMED = ("stalls", "found", "false", "actions")
# The row of README.md. Its figures are those of the unseen programs.
ROW = re.compile(r"^\| stalls found in .* \| `make programs` \|$", re.MULTILINE)


class Output:
    """The lines of a run."""

    def __init__(self, text, about):
        self.rows, self.others, self.about = {}, {}, about
        for line in text.splitlines():
            if line.startswith("programs begun="):
                fields = fields_of(line)
                if fields.get("selection", "all") != "all":
                    sys.exit("table: the output is not of a whole run: use PROGRAMS=all")
                self.about = self.heading(fields)
            elif found := re.match(r"program (\S+) (?:((?:left out|failed): .*)|(loops=.*))", line):
                name, other, fields = found.groups()
                if name not in catalogue.NAMES:
                    sys.exit(f"table: unknown program {name}")
                if fields:
                    self.rows[name] = fields_of(fields)
                else:
                    self.others[name] = other
        if not self.about:
            sys.exit("table: the output does not say which run it is of; give date, commit and form as the second argument")

    @staticmethod
    def heading(fields):
        form = "full form" if fields["form"] == "full" else "`QUICK=1 PROGRAMS=all`"
        return f"{fields['begun'].replace('T', ' ')}, commit {fields['commit']}, {form}: {fields['idle_s']} s idle, {fields['load_s']} s loaded"

    def part(self, which):
        return [(name, self.rows[name]) for name in catalogue.NAMES if name in self.rows and self.rows[name]["set"] == which]


def fields_of(line):
    return dict(word.split("=", 1) for word in line.split() if "=" in word)


def is_good(fields):
    """Whether the program has no fault, declared or not."""
    found_all = fields["found"] == fields["stalls"] and fields["false"] == "0" and fields["actions"] in ("0", "-")
    # Output from before 2026-12 has no `declared`, and its hangs are in time if they are acted on.
    return found_all and fields["same"] == "yes" and fields["silent"] == "no" and fields["acted"] != "never" and fields.get("declared", "0") == "0"


def sums(rows):
    """The sums of the columns, and the number of programs without a fault."""
    total = {column: sum(int(fields[column]) for _, fields in rows if fields[column] != "-") for column in SUMMED}
    hangs = [fields["acted"] for _, fields in rows if fields["acted"] != "-"]
    return {**total, "programs": len(rows), "good": sum(is_good(fields) for _, fields in rows), "hangs": len(hangs), "acted": sum(acted != "never" for acted in hangs)}


def remark(name, fields):
    """Why there are no stalls, or why a fault is expected."""
    kind, way = catalogue.NAMES[name]
    if fields["stalls"] == "0":
        return kind.no_stalls
    remarks = []
    if fields["found"] != fields["stalls"]:
        remarks += [miss.why for miss in kind.misses.values()]
    if fields["acted"] == "never":
        remarks.append(kind.no_action)
    if fields["same"] == "no":
        remarks.append(kind.differs)
    return "; ".join(dict.fromkeys(filter(None, remarks)))


def table(title, rows):
    """The table of a set of programs, with the sums of its lines."""
    total = sums(rows)
    headings = [*COLUMNS.values(), "remark"]
    return [
        f"### {title}", "",
        f"{total['good']} of {total['programs']} without a fault; {total['found']} of {total['stalls']} stalls found; {total['false']} false records; "
        f"{total['actions']} actions; {total['acted']} of {total['hangs']} hangs acted on.", "",
        f"| program | {' | '.join(headings)} |", "|---" * (len(headings) + 1) + "|",
        *(f"| {name} | " + " | ".join(fields[column] for column in COLUMNS) + f" | {remark(name, fields)} |" for name, fields in rows), "",
    ]


def main():
    output = Output(pathlib.Path(sys.argv[1]).read_text(), " ".join(sys.argv[2:]))
    lines = [BEGIN, "", f"Run of {output.about}.", ""]
    for title, which in (("Unseen", "unseen"), ("Known", "known")):
        lines += table(title, output.part(which))
    without = [f"- {name}: {output.others.get(name, 'no line in this run')}" for name in catalogue.NAMES if name not in output.rows]
    lines += ["Without a row:", "", *without, "", END] if without else [END]
    text = DOCUMENT.read_text()
    begin, end = text.index(BEGIN), text.index(END) + len(END)
    DOCUMENT.write_text(text[:begin] + "\n".join(lines) + text[end:])
    total = sums(output.part("unseen"))
    row = (
        f"| stalls found in {total['programs']} runs of Debian's and PyPI's programs not used during development; false records | {total['found']} of "
        f"{total['stalls']}; {total['false']} ({total['good']} without a fault) | `make programs` |"
    )
    readme = README.read_text()
    if not ROW.search(readme):
        sys.exit("table: README.md has no row of `make programs`")
    README.write_text(ROW.sub(lambda _: row, readme))


main()
