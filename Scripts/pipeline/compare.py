"""Compares a reader's output with its input, and prints its line.

    compare.py READER --sent FILE [--lines FILE] [--json FILE] [--journal FILE] [--fields NAMES] [--projected FILE]

--lines      byte for byte the same lines
--json       lines with equal JSON, whatever the order of members and the writing of numbers
--journal    what `journalctl -o json` prints: the same bytes in MESSAGE
--projected  JSON lines with the members of --fields alone; absent ones may be null or empty ({} too),
             with --zero-is-absent 0 as well
Each is a multiset: the order of lines is free. A line is accepted when every given file has it; lines that were not sent are an error.
"""

import argparse
import collections
import json
import sys


def plain(value):
    """Numbers by value: 1.0 is 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    if isinstance(value, list):
        return [plain(element) for element in value]
    return value


def canonical(line):
    try:
        return json.dumps(plain(json.loads(line)), sort_keys=True)
    except ValueError:
        return ("no JSON", line)


def projected(line, fields, absent):
    try:
        whole = json.loads(line)
    except ValueError:
        return ("no JSON", line)
    return json.dumps({name: plain(whole[name]) for name in fields if whole.get(name) not in absent}, sort_keys=True)


def message(line):
    text = json.loads(line)["MESSAGE"]
    return text.encode() if isinstance(text, str) else bytes(text)


def lines(path):
    with open(path, "rb") as file:
        return file.read().split(b"\n")[:-1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("reader")
    parser.add_argument("--sent", action="append", required=True)
    for form in ("lines", "json", "journal", "projected"):
        parser.add_argument("--" + form, action="append", default=[])
    parser.add_argument("--fields", default="")
    parser.add_argument("--zero-is-absent", action="store_true")
    given = parser.parse_args()
    fields = given.fields.split(",")
    absent = (None, "", {}, 0) if given.zero_is_absent else (None, "", {})

    sent = [line for path in given.sent for line in lines(path)]
    keys = {"lines": lambda line: line, "json": canonical, "journal": message, "projected": lambda l: projected(l, fields, absent)}
    refused, foreign = set(), 0
    for form, key in keys.items():
        for path in getattr(given, form):
            back = collections.Counter(key(line) for line in lines(path))
            # The input is lines, whatever the form of the output.
            sent_key = keys["lines"] if form == "journal" else key
            for index, line in enumerate(sent):
                own = sent_key(line)
                if back[own] > 0:
                    back[own] -= 1
                else:
                    refused.add(index)
            left = +back
            foreign += sum(left.values())
            for line in list(left)[:2]:
                print(f"{given.reader}: {path}: not sent: {str(line)[:2000]}", file=sys.stderr)
    for index in sorted(refused)[:2]:
        print(f"{given.reader}: refused or changed: {sent[index][:4000]!r}", file=sys.stderr)
    print(f"pipeline {given.reader} lines={len(sent)} accepted={len(sent) - len(refused)}")
    sys.exit(1 if refused or foreign or not sent else 0)


main()
