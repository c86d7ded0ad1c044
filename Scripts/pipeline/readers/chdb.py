#!/bin/sh
''':'
exec "$PIPELINE_HOME/venv/bin/python" "$0"
'''
"""Inserts all lines into the tables of the example with ClickHouse's engine, and reads their columns back."""

import os
import subprocess
import sys

root, run = os.environ["PIPELINE_ROOT"], os.environ["PIPELINE_RUN"]
sys.path[0] = os.path.join(root, "Scripts/pipeline")
from chdb import session

import sql

work = os.path.join(run, "chdb")
sent = os.path.join(run, "all.jsonl")
stall = ["id", "event", "phase", "message", "duration_ms", "mono_us", "host_name", "fingerprint", "frames_total", "culprit", "seq", "k8s_pod_name", "labels"]
notice = ["event", "message", "mono_us", "host_name", "fingerprint", "dropped", "suppressed", "count", "total_ms", "reason", "k8s_pod_name", "labels"]

clickhouse = session.Session(os.path.join(work, "data"))
for name in ("schema.sql", "hourly.sql", "sampling.sql"):
    for statement in sql.statements(name):
        clickhouse.query(statement)
# Merges are stopped, so that the tables contain every line, not one row per stall.
clickhouse.query("SYSTEM STOP MERGES")
clickhouse.query(f"INSERT INTO lagmonitor.lines SELECT * FROM file('{sent}', JSONEachRow) {sql.INSERT_SETTINGS}, optimize_on_insert = 0")
out = "SETTINGS output_format_json_quote_64bit_integers = 0, output_format_json_quote_decimals = 0, output_format_json_escape_forward_slashes = 0"
for part, table, columns in (
    ("stalls", "lagmonitor.stalls", ", ".join("'stall' AS event" if name == "event" else name for name in stall)),
    # A value that a line does not have is 0 in the table.
    ("notices", "lagmonitor.notices", ", ".join(f"nullIf({n}, 0) AS {n}" if n in ("dropped", "suppressed", "count") else n for n in notice)),
):
    clickhouse.query(f"SELECT {columns} FROM {table} INTO OUTFILE '{work}/{part}.jsonl' FORMAT JSONEachRow {out}")

# Each of the two kinds of line has a table: splits the sent lines in the same way, and adds the results.
with open(sent, "rb") as file:
    lines = file.read().split(b"\n")[:-1]
accepted = 0
for part, fields, own in (
    ("stalls", stall, [line for line in lines if b'"event":"stall"' in line]),
    ("notices", notice, [line for line in lines if b'"event":"stall"' not in line]),
):
    with open(os.path.join(work, part + ".sent"), "wb") as file:
        file.writelines(line + b"\n" for line in own)
    # A column does not distinguish 0 from a missing number.
    done = subprocess.run(
        [sys.executable, f"{root}/Scripts/pipeline/compare.py", "chdb", "--sent", f"{work}/{part}.sent", "--zero-is-absent",
         "--projected", f"{work}/{part}.jsonl", "--fields", ",".join(fields)],
        capture_output=True, text=True,
    )
    sys.stderr.write(done.stderr)
    accepted += int(done.stdout.rsplit("accepted=", 1)[1])
print(f"pipeline chdb lines={len(lines)} accepted={accepted}")
clickhouse.close()
sys.exit(0 if accepted == len(lines) > 0 else 1)
