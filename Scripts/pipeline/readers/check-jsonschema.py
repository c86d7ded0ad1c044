#!/bin/sh
''':'
exec "$PIPELINE_HOME/venv/bin/python" "$0"
'''
"""Validates every line against the schema that the built lagmond prints, and that schema against JSON Schema 2020-12."""

import json
import os
import subprocess
import sys

root, run, home = (os.environ[name] for name in ("PIPELINE_ROOT", "PIPELINE_RUN", "PIPELINE_HOME"))
work = os.path.join(run, "check-jsonschema")
checker = os.path.join(home, "venv/bin/check-jsonschema")
programs = os.environ["PIPELINE_PROGRAMS"]

schema_path = os.path.join(work, "schema.json")
with open(schema_path, "wb") as file:
    subprocess.run([os.path.join(programs, "lagmond"), "schema"], stdout=file, check=True)
subprocess.run([checker, "--quiet", "--check-metaschema", schema_path], check=True)

with open(schema_path) as file:
    schema = json.load(file)
with open(os.path.join(run, "all.jsonl"), "rb") as file:
    lines = file.read().split(b"\n")[:-1]

# The program checks one document at a time. All lines are combined into one array, so that it is started only once.
with open(os.path.join(work, "array.schema.json"), "w") as file:
    json.dump({"$schema": schema["$schema"], "type": "array", "items": {"$ref": schema["$id"]}, "$defs": {"line": schema}}, file)


def refused(documents):
    path = os.path.join(work, "lines.json")
    with open(path, "wb") as file:
        file.write(b"[" + b",".join(documents) + b"]")
    done = subprocess.run(
        [checker, "--output-format", "json", "--schemafile", os.path.join(work, "array.schema.json"), path],
        capture_output=True, text=True,
    )
    report = json.loads(done.stdout)
    if report.get("parse_errors"):
        sys.exit(f"check-jsonschema: not JSON: {report['parse_errors']}")
    return {int(error["path"].split("[")[1].split("]")[0]): error["message"] for error in report.get("errors", [])}


# Checks that validation can fail: a line without a required member, or with one of a wrong type, must be rejected.
whole = json.loads(lines[0])
for name in schema["required"]:
    without = {key: value for key, value in whole.items() if key != name}
    other = {**whole, name: None}
    if len(refused([json.dumps(without).encode(), json.dumps(other).encode()])) != 2:
        sys.exit(f"check-jsonschema: a line without {name}, or with null in it, passes")

wrong = refused(lines)
for index in sorted(wrong)[:2]:
    print(f"check-jsonschema: {wrong[index]} in {lines[index][:3000]!r}", file=sys.stderr)
print(f"pipeline check-jsonschema lines={len(lines)} accepted={len(lines) - len(wrong)}")
sys.exit(1 if wrong or not lines else 0)
