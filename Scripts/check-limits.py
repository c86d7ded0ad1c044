#!/usr/bin/env python3
"""Checks the limits of the package: the targets of its manifest, and the lines of each Swift file. Reads the manifest; builds and resolves nothing.
Prints one line for each finding, and exits with 1 if there is one."""

import glob
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MAXIMUM_TARGETS, MAXIMUM_LINES = 55, 300


def main():
    command = [os.environ.get("SWIFT", "swift"), "package", "--package-path", ROOT, "--scratch-path", f"{ROOT}/.build-manifest", "dump-package"]
    targets = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)["targets"]
    found = []
    if len(targets) > MAXIMUM_TARGETS:
        found.append(f"Package.swift: {len(targets)} targets, at most {MAXIMUM_TARGETS}")
    files = [f"{ROOT}/Package.swift"]
    for folder in ("Sources", "Tests", "Evaluation", "Examples"):
        files += glob.glob(f"{ROOT}/{folder}/**/*.swift", recursive=True)
    for path in files:
        with open(path, encoding="utf-8") as file:
            lines = sum(1 for _ in file)
        if lines > MAXIMUM_LINES:
            found.append(f"{os.path.relpath(path, ROOT)}: {lines} lines, at most {MAXIMUM_LINES}")
    if len(files) < 500:
        found.append(f"only {len(files)} Swift files found")
    print("".join(f"{line}\n" for line in found), end="")
    print(f"{len(targets)} targets, {len(files)} Swift files, {len(found)} beyond a limit", file=sys.stderr)
    sys.exit(1 if found else 0)


main()
