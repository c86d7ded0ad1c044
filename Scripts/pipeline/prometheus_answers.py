"""Compares the results of queries to a Prometheus, over its HTTP API, with the lines.

    prometheus_answers.py page URL                    prints a page
    prometheus_answers.py compare URL LINES RULES     prints the pipeline's line; exits with 1 if anything differs
"""

import json
import sys
import time
import urllib.parse
import urllib.request

PATIENCE_SECONDS = 60


def get(url):
    # No proxy: all servers are on the loopback interface.
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=10) as answer:
        return answer.read()


def query(base, expression):
    """The single value of an expression; None if it has no value yet."""
    try:
        answer = json.loads(get(f"{base}/api/v1/query?" + urllib.parse.urlencode({"query": expression})))
    except OSError:
        return None
    result = answer["data"]["result"]
    return float(result[0]["value"][1]) if len(result) == 1 else None


def wait_for(what, holds):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.5)
    print(f"prometheus: waited {PATIENCE_SECONDS} s for {what}", file=sys.stderr)
    return False


def compare(base, lines_path, rules_path):
    with open(lines_path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    ends = [line for line in lines if line["event"] == "stall" and line["phase"] != "begin"]
    seconds = sum(line["duration_ms"] for line in ends) / 1000
    causes = {line["cause"] for line in ends}

    count = "sum(lagmonitor_loop_stall_duration_seconds_count)"
    fine = wait_for("the counts", lambda: query(base, count) == len(ends))
    accepted = int(query(base, count) or 0)
    # A line's duration is in whole microseconds.
    total = query(base, "sum(lagmonitor_stalled_seconds_total)") or 0
    if abs(total - seconds) > 0.000002 * len(ends):
        print(f"prometheus: {total} s stalled, but {seconds} s in the lines", file=sys.stderr)
        fine = False
    for cause in causes:
        expected = sum(line["cause"] == cause for line in ends)
        found = query(base, f'lagmonitor_loop_stall_duration_seconds_count{{loop="main",cause="{cause}"}}')
        if found != expected:
            print(f"prometheus: {cause}: {found} stalls, expected {expected}", file=sys.stderr)
            fine = False
    fine &= wait_for("the hang", lambda: query(base, 'lagmonitor_stall_in_progress{loop="main"}') == 1)
    fine &= wait_for("up", lambda: query(base, 'up{job="lagmond"}') == 1)

    with open(rules_path, encoding="utf-8") as file:
        names = sorted(line.split(":", 1)[1].strip() for line in file if line.lstrip().startswith(("- alert:", "- record:")))
    groups = json.loads(get(f"{base}/api/v1/rules"))["data"]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    if sorted(rule["name"] for rule in rules) != names:
        print(f"prometheus: rules {[rule['name'] for rule in rules]}, but the file has {names}", file=sys.stderr)
        fine = False

    def is_due():
        alerts = json.loads(get(f"{base}/api/v1/alerts"))["data"]["alerts"]
        return any(alert["labels"]["alertname"] == "LoopHangs" for alert in alerts)

    fine &= wait_for("the alert LoopHangs", is_due)
    print(f"pipeline prometheus lines={len(ends)} accepted={accepted}")
    sys.exit(0 if fine and ends else 1)


if sys.argv[1] == "page":
    sys.stdout.buffer.write(get(sys.argv[2]))
else:
    compare(*sys.argv[2:5])
