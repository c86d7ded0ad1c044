-- Stalls by fingerprint and hour. A view over inserts would count each line of a stall, and each copy of a line, as another stall.
-- It could not undo the fingerprint of a `begin` line whose `end` has another. So this view is recomputed from the current stalls:
-- every five minutes, for the hours for which any line arrived since the last time.
CREATE TABLE IF NOT EXISTS lagmonitor.stalls_hourly_made (
    hour DateTime('UTC'),
    service_name LowCardinality(String),
    service_version LowCardinality(String),
    fingerprint String,
    made_at DateTime64(6, 'UTC'),
    stalls UInt64,
    stalled_ms Decimal(38, 3),
    worst_ms Decimal(18, 3),
    hosts AggregateFunction(uniqExact, LowCardinality(String)),
    culprit String,
    cause LowCardinality(String)
) ENGINE = ReplacingMergeTree(made_at)
PARTITION BY toMonday(hour)
ORDER BY (hour, service_name, service_version, fingerprint);

CREATE MATERIALIZED VIEW IF NOT EXISTS lagmonitor.stalls_hourly_maker
REFRESH EVERY 5 MINUTE APPEND TO lagmonitor.stalls_hourly_made AS
SELECT hour, service_name, service_version, fingerprint, now64(6, 'UTC') AS made_at, count() AS stalls,
       sum(duration_ms) AS stalled_ms, max(duration_ms) AS worst_ms, uniqExactState(host_name) AS hosts,
       argMax(culprit, duration_ms) AS culprit, argMax(cause, duration_ms) AS cause
FROM lagmonitor.stalls FINAL
-- Fifteen minutes: longer than an insert takes until its rows are visible.
WHERE hour IN (
    SELECT DISTINCT hour FROM lagmonitor.stalls
    WHERE received_at >= (SELECT max(made_at) FROM lagmonitor.stalls_hourly_made) - INTERVAL 15 MINUTE
)
GROUP BY hour, service_name, service_version, fingerprint;

-- The view to query: the complete latest result for each hour. A group that the latest result lacks disappears.
CREATE VIEW IF NOT EXISTS lagmonitor.stalls_hourly AS
SELECT * FROM lagmonitor.stalls_hourly_made
WHERE (hour, made_at) IN (SELECT hour, max(made_at) FROM lagmonitor.stalls_hourly_made GROUP BY hour);
