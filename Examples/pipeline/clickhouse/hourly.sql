-- Stalls by fingerprint and hour. A view over inserts would count a stall for each of its lines and for each copy of a line, and
-- could not take back the fingerprint of a `begin` line whose `end` says another. So this one is made anew from the stalls as they
-- stand: every five minutes, of those hours of which anything came since the last time.
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
-- Fifteen minutes: longer than an insert takes from its beginning to its being seen.
WHERE hour IN (
    SELECT DISTINCT hour FROM lagmonitor.stalls
    WHERE received_at >= (SELECT max(made_at) FROM lagmonitor.stalls_hourly_made) - INTERVAL 15 MINUTE
)
GROUP BY hour, service_name, service_version, fingerprint;

-- To read: of each hour what was made last, all of it. A group that is there no more in the newest is gone.
CREATE VIEW IF NOT EXISTS lagmonitor.stalls_hourly AS
SELECT * FROM lagmonitor.stalls_hourly_made
WHERE (hour, made_at) IN (SELECT hour, max(made_at) FROM lagmonitor.stalls_hourly_made GROUP BY hour);
