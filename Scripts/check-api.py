#!/usr/bin/env python3
"""Compares the public API of two builds of the package: the build for Linux, and the build for platforms where it does nothing.

    check-api.py LINUX-PRODUCTS OTHER-PRODUCTS     (folders that `swift build --show-bin-path` prints; all traits on)

Ignores modules (a declaration of LagRunLoop in one build may be in LagMonitor in the other), attributes, and how a property is stored. Prints
one line for each difference, and exits with 1 if there is one."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

MODULES = (
    "LagModel LagActivity LagRunLoop LagOutput LagMonitor LagMonitorFoundation LagMonitorConcurrency "
    "LagMonitorDelivery LagMonitorOTLP LagMonitorTestKit LagMonitorNIO LagMonitorLogging LagMonitorMetrics LagMonitorLifecycle "
    "LagMonitorConfiguration LagMonitorTracing LagMonitorHummingbird LagMonitorGRPC LagSymbols"
).split()
# A type may have these conformances without a declaration.
IMPLIED = {"Copyable", "Escapable", "Sendable", "SendableMetatype", "BitwiseCopyable"}


def declaration(symbol):
    text = "".join(part["spelling"] for part in symbol["declarationFragments"])
    text = re.sub(r"@\w+(\([^)]*\))?\s*", "", text)
    text = re.sub(r"\b(final|convenience|lazy|weak|unowned)\s+", "", text)
    text = re.sub(r"\blet (\w+: .*)", r"var \1", text)
    return re.sub(r"\s+", " ", re.sub(r"\{ get \}$", "", text)).strip()


def extract(products, folder):
    headers = glob.glob("Sources/C*/include") + glob.glob(f"{products}/../../checkouts/*/Sources/C*/include")
    headers += glob.glob(f"{products}/../../checkouts/*/Sources/*/include")
    extractor = shutil.which("swift-symbolgraph-extract") or os.path.join(
        os.path.dirname(os.path.realpath(shutil.which(os.environ.get("SWIFT", "swift")))), "swift-symbolgraph-extract"
    )
    for module in MODULES:
        command = [extractor, "-module-name", module, "-target", f"{os.uname().machine}-unknown-linux-gnu"]
        command += ["-I", f"{products}/Modules", "-minimum-access-level", "public", "-output-dir", folder]
        for header in sorted(set(headers)):
            command += ["-I", header]
        # Types of C modules without their own conformances.
        for modules in sorted(glob.glob(f"{products}/*.build/module.modulemap")):
            command += ["-Xcc", f"-fmodule-map-file={modules}"]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"{module} of {products}: {result.stderr}")


def interface(products):
    found = set()
    with tempfile.TemporaryDirectory() as folder:
        extract(products, folder)
        for path in glob.glob(f"{folder}/*.symbols.json"):
            graph = json.load(open(path, encoding="utf-8"))
            names = {symbol["identifier"]["precise"]: ".".join(symbol["pathComponents"]) for symbol in graph["symbols"]}
            for symbol in graph["symbols"]:
                # Members that the standard library adds to each option set, sequence and error.
                if symbol.get("swiftExtension", {}).get("extendedModule", "Lag").startswith("Lag") or "::" not in symbol["identifier"]["precise"]:
                    parts = symbol["pathComponents"]
                    found.add(f"{'.'.join(parts[:-1])}: {declaration(symbol)}")
            for relation in graph["relationships"]:
                other = relation.get("targetFallback") or names.get(relation["target"], relation["target"])
                if relation["kind"] == "conformsTo" and relation["source"] in names and other.split(".")[-1] not in IMPLIED:
                    found.add(f"{names[relation['source']]}: conforms to {other.split('.')[-1]}")
    return found


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    linux, other = (interface(path) for path in sys.argv[1:])
    if len(linux) < 500:
        sys.exit(f"only {len(linux)} public declarations found on Linux")
    for line in sorted(linux - other):
        print(f"only on Linux: {line}")
    for line in sorted(other - linux):
        print(f"only on other platforms: {line}")
    print(f"{len(linux & other)} public declarations are the same", file=sys.stderr)
    sys.exit(0 if linux == other else 1)


main()
