"""Checks that a Grafana dashboard and alert rules query only metrics and labels that `/metrics` serves.

    check_dashboard.py DASHBOARD RULES PAGE… [--prometheus URL]

Each metric in a query must be on one of the pages, or be defined by a rule. The metric must have each label that the query selects, groups or displays
by. The dashboard must contain every metric of the pages. With --prometheus each query is also sent to this Prometheus: it must be valid, and queries of
served metrics must return a result. Exits with 1 if anything differs.
"""

import json
import re
import sys
import time
import urllib.parse
import urllib.request

PATIENCE_SECONDS = 30
# Labels that Prometheus adds to every series when it scrapes.
OWN_LABELS = {"instance", "job"}
METRIC = re.compile(r"(?<![\w:$\"])((?:\w+:)?lagmonitor_[\w:]+)(\{[^}]*\})?")
GROUPING = re.compile(r"\b(?:by|without)\s*\(([^)]*)\)")
LABEL_VALUES = re.compile(r"label_values\(([^{,]+)(\{[^}]*\})?,\s*(\w+)\)")


def served(paths):
    """The labels of each metric of the pages."""
    metrics = {}
    for path in paths:
        with open(path, encoding="utf-8") as page:
            for line in page:
                if not line.startswith("#") and (match := re.match(r"(\w+)(\{.*\})? ", line)):
                    metrics.setdefault(match[1], set()).update(re.findall(r'(\w+)="', match[2] or ""))
    return metrics


def rules_of(path):
    """The names that the rules define, and all expressions. Needs no YAML parser: each expression is on one line, or folded below `>-`."""
    names, expressions, lines = set(), [], open(path, encoding="utf-8").read().split("\n")
    for index, line in enumerate(lines):
        if match := re.match(r"\s*- record: (\S+)", line):
            names.add(match[1])
        if match := re.match(r"(\s*)expr: (.*)", line):
            expressions.append(lines[index + 1].strip() if match[2].startswith(">") else match[2])
    return names, expressions


def queries_of(dashboard):
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield f"panel {panel['title']}", target["expr"], target.get("legendFormat", "")


class Check:
    def __init__(self, metrics, made):
        self.metrics, self.made, self.failures, self.asked = metrics, made, [], set()

    def fail(self, text):
        self.failures.append(text)

    def query(self, where, expression, legend=""):
        found = METRIC.findall(expression)
        if not found:
            self.fail(f"{where}: names no metric: {expression}")
        known = set()
        for name, selector in found:
            self.asked.add(name)
            if name in self.made:
                known |= set().union(*self.metrics.values())
            elif name not in self.metrics:
                self.fail(f"{where}: {name} is not served")
                continue
            labels = self.metrics.get(name, set()) | OWN_LABELS
            known |= labels
            for label in re.findall(r"(\w+)\s*(?:=~|!=|!~|=)", selector):
                if name not in self.made and label not in labels:
                    self.fail(f"{where}: {name} has no label {label}")
        shown = re.findall(r"\{\{\s*(\w+)\s*\}\}", legend)
        for label in shown + [word.strip() for group in GROUPING.findall(expression) for word in group.split(",") if word.strip()]:
            if label not in known:
                self.fail(f"{where}: none of its metrics has a label {label}")
        grouped = re.search(r"\bby\s*\(([^)]*)\)", expression)
        for label in shown if grouped else []:
            if label not in grouped[1].replace(" ", "").split(","):
                self.fail(f"{where}: displays by {label}, which the query aggregates away")

    def variables(self, dashboard):
        names = {variable["name"] for variable in dashboard["templating"]["list"]}
        for variable in dashboard["templating"]["list"]:
            if variable["type"] != "query":
                continue
            match = LABEL_VALUES.fullmatch(variable["definition"])
            if not match:
                self.fail(f"variable {variable['name']}: not understood: {variable['definition']}")
            elif match[3] not in self.metrics.get(match[1], set()) | OWN_LABELS:
                self.fail(f"variable {variable['name']}: {match[1]} has no label {match[3]}")
        for where, expression, _ in queries_of(dashboard):
            for name in re.findall(r"\$(\w+)", expression):
                if name not in names and not name.startswith("__"):
                    self.fail(f"{where}: unknown variable {name}")


def ask(base, expression):
    for name, value in (("$__rate_interval", "1m"), ("$datasource", ""), ("$instance", ".*"), ("$target", ".*"), ("$process", ".*")):
        expression = expression.replace(name, value)
    url = f"{base}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=10) as answer:
        return json.loads(answer.read())["data"]["result"]


def main(arguments):
    base = None
    if "--prometheus" in arguments:
        place = arguments.index("--prometheus")
        base = arguments[place + 1]
        del arguments[place : place + 2]
    if len(arguments) < 3:
        sys.exit(__doc__)
    with open(arguments[0], encoding="utf-8") as file:
        dashboard = json.load(file)
    made, expressions = rules_of(arguments[1])
    check = Check(served(arguments[2:]), made)
    queries = list(queries_of(dashboard))
    for where, expression, legend in queries:
        check.query(where, expression, legend)
    check.variables(dashboard)
    # A histogram is served as several metrics.
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in check.metrics}
    missing = families - {re.sub(r"_(bucket|sum|count)$", "", name) for name in check.asked}
    if missing:
        check.fail(f"not in the dashboard: {', '.join(sorted(missing))}")
    for expression in expressions:
        check.query("rule", expression)
    identifiers = [panel["id"] for panel in dashboard["panels"]]
    if len(set(identifiers)) != len(identifiers):
        check.fail("two panels have the same id")
    # Metrics of targets are absent if Prometheus scrapes a lagmond without targets; rates need two scrapes.
    unanswered = [(where, expression) for where, expression, _ in queries if base and "lagmonitor_target" not in expression
                  and "lagmonitor_hang_signals" not in expression]
    deadline = time.monotonic() + PATIENCE_SECONDS
    while unanswered and time.monotonic() < deadline:
        try:
            unanswered = [(where, expression) for where, expression in unanswered if not ask(base, expression)]
        except (OSError, KeyError) as error:
            check.fail(f"not answered: {error}")
            break
        time.sleep(0.5)
    if unanswered:
        check.fail(f"no result for {', '.join(where for where, _ in unanswered)}")
    for failure in check.failures:
        print(f"check_dashboard: {failure}", file=sys.stderr)
    if not check.failures:
        print(f"dashboard queries={len(queries)} rules={len(expressions)} metrics={len(check.metrics)}")
    sys.exit(1 if check.failures else 0)


main(sys.argv[1:])
