"""Compares a reader's output with its input, and prints its line.

    compare.py READER --sent FILE [--lines FILE] [--json FILE] [--journal FILE] [--fields NAMES] [--projected FILE]

--lines      the same lines, byte for byte
--json       lines with equal JSON, regardless of the order of members and the notation of numbers
--journal    the output of `journalctl -o json`: the same bytes in MESSAGE
--projected  JSON lines with only the members of --fields; absent ones may be null or empty ({} too),
             with --zero-is-absent also 0
Each file is a multiset: the order of lines does not matter. A line is accepted if every given file contains it. Lines that were not sent are an error.
"""

import argparse
import collections
import json
import sys


def plain(value):
    """Normalises numbers: 1.0 becomes 1."""
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
        return ("not JSON", line)


def projected(line, fields, absent):
    try:
        whole = json.loads(line)
    except ValueError:
        return ("not JSON", line)
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
            # With --journal only the output is in the journal's form; the input is always lines.
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
