#!/bin/sh
''':'
exec "$PIPELINE_HOME/venv/bin/python" "$0"
'''
"""DuckDB infers the types of all lines, and writes the lines back: once as JSON, once as columns."""

import json
import os
import subprocess
import sys

# Replaces this file's folder in the search path, because this file has the name of the module duckdb.
sys.path.pop(0)
import duckdb

root, run = os.environ["PIPELINE_ROOT"], os.environ["PIPELINE_RUN"]
work = os.path.join(run, "duckdb")
sent = os.path.join(run, "all.jsonl")
fields = ["id", "event", "phase", "message", "duration_ms", "mono_us", "host_name", "fingerprint", "frames_total", "window_s", "dropped"]

with open(os.path.join(root, "Examples/pipeline/duckdb/stalls.sql")) as file:
    example = file.read().replace("'stalls.jsonl'", f"'{sent}'")

connection = duckdb.connect()
connection.execute(f"""COPY (SELECT json FROM read_json_objects('{sent}', format = 'newline_delimited',
    maximum_object_size = 2097152)) TO '{work}/raw.csv' (FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x01')""")
groups = connection.execute(example).fetchall()
stalls = connection.execute("SELECT count(*), count(DISTINCT id) FROM stalls").fetchone()

with open(os.path.join(work, "columns.jsonl"), "w") as file:
    for row in connection.execute(f"SELECT {', '.join(fields)} FROM lines").fetchall():
        values = {name: value if isinstance(value, (int, float, str, type(None))) else str(value) for name, value in zip(fields, row)}
        file.write(json.dumps(values) + "\n")

if not groups or stalls[0] != stalls[1]:
    sys.exit(f"duckdb: {len(groups)} groups, {stalls[0]} rows of {stalls[1]} stalls")
sys.exit(
    subprocess.run(
        [sys.executable, f"{root}/Scripts/pipeline/compare.py", "duckdb", "--sent", sent, "--json", f"{work}/raw.csv",
         "--projected", f"{work}/columns.jsonl", "--fields", ",".join(fields)]
    ).returncode
)
