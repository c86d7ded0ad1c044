#!/usr/bin/env python3
"""Checks the files that are built on platforms other than Linux (Package.swift, "Other platforms"): none may import a module that exists
only on Linux, or use an API that the oldest supported macOS lacks. A Linux machine cannot compile for those platforms; this check and
`make platforms`, which builds the same files without the other targets, replace it.

Also checks the examples that depend on the package, which are for every platform.

Reads the manifest as the other platforms see it; builds and resolves nothing. Prints one line for each finding, and exits with 1 if there is one."""

import glob
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# C libraries of some systems, this package's C modules, and modules that are part of Foundation only on Linux.
LINUX = {"Glibc", "Musl", "Bionic", "CoreFoundation", "CZlib", "CLibunwind", "CLagBeacon", "CLagLinux", "CLagRemote", "CLagOTLP"}
# These need macOS 15; the package supports 13. Allowed in tests, which run on developers' machines, and in examples, whose manifests require it.
NEW = {"Synchronization"}
IMPORT = re.compile(r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|private|fileprivate)\s+)?import\s+(?:\w+\s+)?(\w+)")
CONDITION = re.compile(r"^\s*#(if|elseif|else|endif)\b(.*)")


def sources(target):
    base = os.path.join(ROOT, target["path"])
    excluded = [os.path.join(base, path) for path in target.get("exclude", [])]
    for entry in target["sources"]:
        path = os.path.join(base, entry)
        if not os.path.exists(path):
            sys.exit(f"Package.swift names {entry} for {target['name']}, which does not exist")
        for folder, _, names in os.walk(path):
            if not any(folder == other or folder.startswith(other + "/") for other in excluded):
                yield from (os.path.join(folder, name) for name in names if name.endswith(".swift"))


def examples():
    """Sources of the examples that depend on the package. The others are programs for lagmond to watch, and are only for Linux."""
    for manifest in sorted(glob.glob(f"{ROOT}/Examples/*/Package.swift")):
        if '"LagMonitor"' in open(manifest, encoding="utf-8").read():
            yield from sorted(glob.glob(f"{os.path.dirname(manifest)}/Sources/**/*.swift", recursive=True))


def findings(path, is_program):
    forbidden = LINUX if is_program else LINUX | NEW
    conditions = []
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        if condition := CONDITION.match(line):
            word, rest = condition.groups()
            if word == "if":
                conditions.append(rest)
            elif word == "endif":
                conditions.pop()
            else:
                conditions[-1] = rest
            continue
        imported = IMPORT.match(line)
        if not imported or imported.group(1) not in forbidden:
            continue
        if not any(f"canImport({imported.group(1)})" in rest and "!" not in rest for rest in conditions):
            yield number, imported.group(1)


def main():
    environment = dict(os.environ, LAGMONITOR_UNSUPPORTED="1")
    command = [os.environ.get("SWIFT", "swift"), "package", "--package-path", ROOT, "--scratch-path", f"{ROOT}/.build-manifest", "dump-package"]
    manifest = json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
    files, found = 0, 0
    every = [(path, target["type"] == "test") for target in manifest["targets"] for path in sources(target)]
    own = [(path, True) for path in examples()]
    for path, is_program in every + own:
        files += 1
        for number, module in findings(path, is_program):
            found += 1
            print(f"{os.path.relpath(path, ROOT)}:{number}: imports {module}, which other platforms do not have")
    if files < 50 or len(own) < 5:
        sys.exit(f"only {files} files are built on other platforms: the manifest differs from what this script expects")
    print(f"{files} files are built on other platforms, {found} imports that they do not have there", file=sys.stderr)
    sys.exit(1 if found else 0)


main()
