"""Writes the table of docs/programs.md from the output of one or several runs of Scripts/programs/run: table.py OUTPUT…"""
import pathlib
import re
import sys

import catalogue

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "programs.md"
BEGIN, END = "<!-- Written by Scripts/programs/table.py -->", "<!-- To here -->"
COLUMNS = ("loops", "stalls", "found", "false", "actions", "cpu_idle", "cpu_load", "same", "silent")
HEADINGS = ("loops", "stalls", "found", "false", "actions", "lagmond idle", "lagmond loaded", "as bare", "silent")


def fields_of(line):
    return dict(word.split("=", 1) for word in line.split() if "=" in word)


def row(name, fields):
    kind, _ = catalogue.NAMES[name]
    why = kind.no_stalls if fields["stalls"] == "0" else ""
    return f"| {name} | " + " | ".join(fields[column] for column in COLUMNS) + f" | {why} |"


def table(title, rows):
    """The table of a set of programs, with the sums of its lines."""
    good = sum(fields["found"] == fields["stalls"] and fields["false"] == fields["actions"] == "0" and fields["same"] == "yes" and fields["silent"] == "no" for _, fields in rows)
    sums = {column: sum(int(fields[column]) for _, fields in rows) for column in ("stalls", "found", "false", "actions")}
    return [
        f"### {title}", "",
        f"{good} of {len(rows)} without a fault; {sums['found']} of {sums['stalls']} stalls found; {sums['false']} false records; {sums['actions']} actions.", "",
        "| program | " + " | ".join(HEADINGS) + " | why there are no stalls |", "|---" * (len(HEADINGS) + 2) + "|",
        *(row(name, fields) for name, fields in rows), "",
    ]


def main():
    rows, others = {}, {}
    for path in sys.argv[1:]:
        for line in pathlib.Path(path).read_text().splitlines():
            found = re.match(r"program (\S+) (left out: .*|failed: .*|.*)", line)
            if not found:
                continue
            name, rest = found.groups()
            if rest.startswith(("left out", "failed")):
                others[name] = rest
            else:
                rows[name] = fields_of(rest)
    lines = [BEGIN, ""]
    for title, which in (("Unseen", "unseen"), ("Known", "known")):
        lines += table(title, [(name, rows[name]) for name in catalogue.NAMES if name in rows and rows[name]["set"] == which])
    lines += [f"- {name} {rest}" for name, rest in others.items() if name not in rows]
    lines += ["", END] if others else [END]
    text = DOCUMENT.read_text()
    begin, end = text.index(BEGIN), text.index(END) + len(END)
    DOCUMENT.write_text(text[:begin] + "\n".join(lines) + text[end:])


main()
