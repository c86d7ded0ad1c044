-- A sample, if one row per stall is too much. It keeps every stall of a second or more, and one of sixteen shorter stalls, with a
-- weight of 16. The last hex digit of the id decides. It is random, but the same in every copy of a line, so this view and an agent
-- (with a regular expression on "id") choose the same stalls.
CREATE TABLE IF NOT EXISTS lagmonitor.sampled AS lagmonitor.stalls ENGINE = ReplacingMergeTree(version)
PARTITION BY toMonday(hour)
ORDER BY (hour, id);

ALTER TABLE lagmonitor.sampled ADD COLUMN IF NOT EXISTS weight UInt16;

CREATE MATERIALIZED VIEW IF NOT EXISTS lagmonitor.lines_to_sampled TO lagmonitor.sampled AS
SELECT id, transform(phase, ['begin', 'abandoned', 'end'], [1, 2, 3], 0) AS version, time, phase, message, kind, fingerprint,
       duration_ms, host_name, service_name, service_version, loop, cause, culprit,
       if(phase = 'abandoned' OR duration_ms >= 1000, 1, 16) AS weight
FROM lagmonitor.lines
-- The duration in a begin line is not the stall's final one: alerts need it, statistics do not.
WHERE event = 'stall' AND phase != 'begin' AND (weight = 1 OR endsWith(toString(id), '0'));

-- name: estimated
-- Stalls and time by fingerprint, with the standard error of each. If a sample includes each stall independently with probability
-- 1/w, the variance of the sum of w·y is estimated by the sum of w·(w-1)·y² (Horvitz and Thompson 1952).
SELECT fingerprint, sum(weight) AS stalls, sqrt(sum(toFloat64(weight) * (weight - 1))) AS stalls_error,
       sum(weight * duration_ms) AS stalled_ms,
       sqrt(sum(toFloat64(weight) * (weight - 1) * pow(toFloat64(duration_ms), 2))) AS stalled_ms_error
FROM lagmonitor.sampled FINAL
GROUP BY fingerprint
ORDER BY stalled_ms DESC, fingerprint;
