#!/usr/bin/env python3
"""changelog.py VERSION: makes Debian's changelog on stdout of CHANGELOG.md on stdin; the section "Unreleased" is that of VERSION."""

import email.utils
import os
import re
import sys
import textwrap

MAINTAINER = "LagMonitor maintainers <maintainers@lagmonitor.dev>"


def main():
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
        # Packages of one version may be made of different commits.
        seconds = int(os.environ["SOURCE_DATE_EPOCH"])
        date = email.utils.formatdate(seconds) if not day else email.utils.format_datetime(
            email.utils.datetime.datetime.fromisoformat(day + "T00:00:00+00:00"))
        print(f"lagmond ({version}) unstable; urgency=medium\n")
        for item in items or ["No change that a user sees."]:
            print(textwrap.fill(item, 78, initial_indent="  * ", subsequent_indent="    ", break_long_words=False))
        print(f"\n -- {MAINTAINER}  {date}\n")


main()
