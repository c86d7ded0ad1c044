#!/bin/sh
''':'
exec "$PIPELINE_HOME/venv/bin/python" "$0"
'''
"""Sends five million lines of a fleet through the tables, views and queries of Examples/pipeline/clickhouse, on ClickHouse's engine.

Each result must be exactly the one that the generator expects. Estimates from the sample must be as accurate as they claim.
"""

import math
import os
import sys
import time

root, run = os.environ["PIPELINE_ROOT"], os.environ["PIPELINE_RUN"]
sys.path[0] = os.path.join(root, "Scripts/pipeline")
import numpy
from chdb import session

import fleet_data
import sql

work = os.path.join(run, "clickhouse-fleet")
chunk_lines = int(os.environ.get("PIPELINE_FLEET_CHUNK", "400000"))
started = time.monotonic()
wrong = []


def say(text):
    print(f"clickhouse-fleet: {time.monotonic() - started:.0f} s: {text}", file=sys.stderr, flush=True)


def check(title, found, expected):
    if found == expected:
        say(f"{title}: correct")
    else:
        wrong.append(title)
        say(f"{title}: WRONG: {str(found)[:500]}, expected {str(expected)[:500]}")


fleet = fleet_data.Fleet(int(os.environ.get("PIPELINE_FLEET_STALLS", "4700000")), seed=20261102)
lines = len(fleet.line_stall)
say(f"{lines} lines about {fleet.count} stalls, {len(fleet.notices[0][0])} about suppressed stalls")

clickhouse = session.Session(os.path.join(work, "data"))


def rows(query):
    text = str(clickhouse.query(query, "TSV"))
    return [line.split("\t") for line in text.splitlines()]


def thousandths(decimal):
    whole, _, part = decimal.partition(".")
    return int(whole) * 1000 + int((part + "000")[:3])


for name in ("schema.sql", "hourly.sql", "sampling.sql"):
    for statement in sql.statements(name):
        # Here, each insert has finished before the next step, so the refresh needs no margin, and does not recompute unchanged hours.
        clickhouse.query(statement.replace("INTERVAL 15 MINUTE", "INTERVAL 0 MINUTE"))
# For comparison, the obvious solution: a view that sums over inserts.
clickhouse.query("""CREATE TABLE lagmonitor.naive (hour DateTime('UTC'), fingerprint String, stalls UInt64, stalled_ms Decimal(38, 3))
    ENGINE = SummingMergeTree ORDER BY (hour, fingerprint)""")
clickhouse.query("""CREATE MATERIALIZED VIEW lagmonitor.lines_to_naive TO lagmonitor.naive AS
    SELECT toStartOfHour(toDateTime(time, 'UTC')) AS hour, fingerprint, count() AS stalls, sum(duration_ms) AS stalled_ms
    FROM lagmonitor.lines WHERE event = 'stall' GROUP BY hour, fingerprint""")


def insert(path):
    clickhouse.query(f"INSERT INTO lagmonitor.lines SELECT * FROM file('{path}', JSONEachRow) {sql.INSERT_SETTINGS}")
    os.remove(path)


def refresh():
    clickhouse.query("SYSTEM REFRESH VIEW lagmonitor.stalls_hourly_maker")
    clickhouse.query("SYSTEM WAIT VIEW lagmonitor.stalls_hourly_maker")


size = 0
for number, first in enumerate(range(0, lines, chunk_lines)):
    path = os.path.join(work, "chunk.jsonl")
    fleet.write_lines(path, first, min(first + chunk_lines, lines))
    size += os.path.getsize(path)
    insert(path)
    refresh()
    say(f"{min(first + chunk_lines, lines)} lines, {size / 1e9:.1f} GB")
path = os.path.join(work, "notices.jsonl")
fleet.write_notices(path)
insert(path)

# The number of accepted lines, counted by the view that counts lines.
naive_lines, naive_ms = rows("SELECT sum(stalls), sum(stalled_ms) FROM lagmonitor.naive")[0]
accepted = int(naive_lines)

true_ms = int(fleet.duration_seen_us().sum())
stored, stored_ms = rows("SELECT count(), sum(duration_ms) FROM lagmonitor.stalls FINAL")[0]
check("stalls", (int(stored), thousandths(stored_ms)), (fleet.count, true_ms))
say(f"a view over inserts would have {int(naive_lines) / fleet.count - 1:+.1%} stalls and {thousandths(naive_ms) / true_ms - 1:+.1%} time")

hourly = {}
for hour, service, version, fingerprint, stalls, ms in rows(
    """SELECT toUnixTimestamp(hour), service_name, service_version, fingerprint, stalls, stalled_ms FROM lagmonitor.stalls_hourly"""
):
    hourly[int(hour), service, version, fingerprint] = int(stalls), thousandths(ms)
names = [fleet_data.name(number) for number in range(fleet_data.FINGERPRINTS)]
expected = {}
for key, value in fleet.hourly().items():
    rest, fingerprint = divmod(key, fleet_data.FINGERPRINTS)
    rest, version = divmod(rest, 3)
    hour, service = divmod(rest, 2)
    where = (
        fleet_data.START_NS // 10**9 + hour * 3600, fleet_data.SERVICES[service], fleet_data.VERSIONS[version], names[fingerprint],
    )
    expected[where] = value
check(f"{len(expected)} groups by fingerprint and hour", hourly, expected)
made = int(rows("SELECT count() FROM lagmonitor.stalls_hourly_made")[0][0])
say(f"{made} rows are stored for them: ClickHouse removes old versions when it merges; rows of groups that no longer exist stay, but are not shown")

fingerprint, duration = fleet.fingerprint_seen(), fleet.duration_seen_us()
for number, service in enumerate(fleet_data.SERVICES):
    own = fleet.service == number
    last = own & (fleet.version == 2)
    before = set(fingerprint[own & (fleet.version != 2)].tolist())
    new = [f for f in numpy.unique(fingerprint[last]).tolist() if f not in before]
    answer = rows(sql.query("queries.sql", "new_fingerprints", service=f"'{service}'"))
    truth = {
        names[f]: (int((last & (fingerprint == f)).sum()), int(duration[last & (fingerprint == f)].sum()),
                   len(numpy.unique(fleet.host[last & (fingerprint == f)]))) for f in new
    }
    check(f"{len(new)} new fingerprints of {service}", {row[0]: (int(row[1]), thousandths(row[2]), int(row[4])) for row in answer}, truth)

since_hour = 96
since = f"'{numpy.datetime64(fleet_data.START_NS + since_hour * fleet_data.HOUR_NS, 'ns').astype('datetime64[s]')}'".replace("T", " ")
recent = fleet.hour() >= since_hour
stalls_of_host = numpy.bincount(fleet.host[recent], minlength=fleet_data.HOSTS)
time_of_host = numpy.bincount(fleet.host[recent], weights=duration[recent].astype(float), minlength=fleet_data.HOSTS).astype(numpy.int64)
worst = sorted(range(fleet_data.HOSTS), key=lambda host: (-time_of_host[host], fleet_data.host_name(host)))[:20]
check(
    "the 20 worst hosts",
    [(row[0], int(row[1]), thousandths(row[2])) for row in rows(sql.query("queries.sql", "worst_hosts", since=since))],
    [(fleet_data.host_name(host), int(stalls_of_host[host]), int(time_of_host[host])) for host in worst],
)

held = fleet.held_back_by_hour()
by_hour = numpy.bincount(fleet.hour(), weights=duration.astype(float), minlength=fleet_data.HOURS).astype(numpy.int64)
stalls_by_hour = numpy.bincount(fleet.hour(), minlength=fleet_data.HOURS)
answer = rows(sql.query("queries.sql", "hang_rate", since=since, hosts=fleet_data.HOSTS))
check(
    "the hang rate of each hour",
    [(int(row[1]), round(float(row[2]) * 1e6), round(float(row[3]) * 1e10), round(float(row[4]) * 1e6)) for row in answer],
    [(int(stalls_by_hour[hour]), int(by_hour[hour]), int(by_hour[hour]), int(held[hour])) for hour in range(since_hour, fleet_data.HOURS)],
)
check(
    "stalls in progress",
    len(rows(sql.query("queries.sql", "in_progress", since=since))),
    int((recent & (fleet.final == fleet_data.BEGIN)).sum()),
)

# It is known which stalls are in the sample, so its sums must be exact. The estimated error must describe their distance from the sums of all stalls.
ended = fleet.final != fleet_data.BEGIN
weight = numpy.where((fleet.final == fleet_data.ABANDONED) | (fleet.duration_us >= 1_000_000), 1, 16)
# If a stall has an abandoned and an end line, and the sample lacks the end line, it keeps the abandoned line. Here all such stalls are hangs, whose end
# lines are in the sample.
kept = ended & ((weight == 1) | (fleet.random_low & 15 == 0))
say(f"the sample contains {kept.sum() / ended.sum():.1%} of the stalls")
answer = {row[0]: row[1:] for row in rows(sql.query("sampling.sql", "estimated"))}


def sums(mask, weights):
    return numpy.bincount(fingerprint[mask], weights=weights[mask], minlength=fleet_data.FINGERPRINTS)


one = numpy.ones(fleet.count)
estimated_stalls, estimated_time = sums(kept, weight.astype(float)), sums(kept, (weight * duration).astype(float))
there = numpy.flatnonzero(estimated_stalls)
check(
    f"estimates of {len(there)} fingerprints",
    {key: (int(row[0]), thousandths(row[2])) for key, row in answer.items()},
    {names[f]: (int(estimated_stalls[f]), int(estimated_time[f])) for f in there},
)
true_stalls, true_time = sums(ended, one), sums(ended, duration.astype(float))
thinned = sums(kept & (weight == 16), one)
for title, truth, column, unit in (("stalls", true_stalls, 0, 1), ("time", true_time, 2, 1000)):
    # The error cannot be estimated from only a few sampled stalls.
    judged = [f for f in there if thinned[f] >= 30]
    inside = sum(
        abs(float(answer[names[f]][column]) * unit - truth[f]) <= 1.96 * float(answer[names[f]][column + 1]) * unit for f in judged
    )
    total = sum(float(answer[names[f]][column]) for f in there) * unit
    error = unit * math.sqrt(sum(float(answer[names[f]][column + 1]) ** 2 for f in there))
    off = total - truth.sum()
    share = inside / max(1, len(judged))
    say(f"{title} in all: estimate off by {off / truth.sum():+.3%}, standard error {error / truth.sum():.3%}; "
        f"{share:.1%} of {len(judged)} fingerprints within 1.96 standard errors (95 % expected)")
    # With few groups, the share may be 100 %.
    if not (0.92 <= share and (share <= 0.98 or len(judged) < 100) and abs(off) <= 3 * error):
        wrong.append(f"sampling: {title}")

notices = int(rows("SELECT count() FROM lagmonitor.notices FINAL")[0][0])
check("notices", notices, fleet.notices[1])
clickhouse.close()
say("done")
print(f"pipeline clickhouse-fleet lines={lines} accepted={accepted}")
if wrong:
    print(f"clickhouse-fleet: wrong: {', '.join(wrong)}", file=sys.stderr)
sys.exit(0 if not wrong and accepted == lines else 1)
