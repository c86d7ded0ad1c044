#!/usr/bin/env python3
"""changelog.py VERSION: converts CHANGELOG.md on stdin to Debian's changelog on stdout; the section "Unreleased" becomes the section of VERSION."""

import datetime
import email.utils
import os
import re
import sys
import textwrap


def main():
    with open(os.path.join(os.path.dirname(__file__), "debian/control"), encoding="utf-8") as control:
        maintainer = re.search(r"^Maintainer: (.*)", control.read(), re.M)[1]
    sections, items = [], []
    for line in sys.stdin:
        heading = re.match(r"## (?:Unreleased|(\S+) \((\d{4}-\d\d-\d\d)\))", line)
        if heading:
            items = []
            sections.append((heading[1] or sys.argv[1], heading[2], items))
        elif line.startswith("- ") and sections:
            items.append(line[2:].strip())
        elif line.startswith("  ") and items:
            items[-1] += " " + line.strip()
    for version, day, items in sections:
        if day:
            date = email.utils.format_datetime(datetime.datetime.fromisoformat(day + "T00:00:00+00:00"))
        else:
            date = email.utils.formatdate(int(os.environ["SOURCE_DATE_EPOCH"]))
        print(f"lagmond ({version}) unstable; urgency=medium\n")
        for item in items or ["No change that is visible to users."]:
            print(textwrap.fill(item, 78, initial_indent="  * ", subsequent_indent="    ", break_long_words=False))
        print(f"\n -- {maintainer}  {date}\n")


main()
