-- Where even one row a stall is too much: stalls of a second and more, all of them; of the shorter ones one of sixteen, which stands
-- for sixteen. The last hex digit of the id decides. It is random, and the same in every copy of a line, so whoever decides
-- (this view, or an agent with a regular expression over "id") decides alike.
CREATE TABLE IF NOT EXISTS lagmonitor.sampled AS lagmonitor.stalls ENGINE = ReplacingMergeTree(version)
PARTITION BY toMonday(hour)
ORDER BY (hour, id);

ALTER TABLE lagmonitor.sampled ADD COLUMN IF NOT EXISTS weight UInt16;

CREATE MATERIALIZED VIEW IF NOT EXISTS lagmonitor.lines_to_sampled TO lagmonitor.sampled AS
SELECT id, transform(phase, ['begin', 'abandoned', 'end'], [1, 2, 3], 0) AS version, time, phase, message, kind, fingerprint,
       duration_ms, host_name, service_name, service_version, loop, cause, culprit,
       if(phase = 'abandoned' OR duration_ms >= 1000, 1, 16) AS weight
FROM lagmonitor.lines
-- A begin line has a duration that is not the stall's; alarms want it, statistics do not.
WHERE event = 'stall' AND phase != 'begin' AND (weight = 1 OR endsWith(toString(id), '0'));

-- name: estimated
-- Stalls and time by fingerprint, with the standard error of each: of the sum of w·y over a sample in which each stall is with
-- the chance 1/w, independently (Horvitz and Thompson 1952), the variance is estimated by the sum of w·(w-1)·y².
SELECT fingerprint, sum(weight) AS stalls, sqrt(sum(toFloat64(weight) * (weight - 1))) AS stalls_error,
       sum(weight * duration_ms) AS stalled_ms,
       sqrt(sum(toFloat64(weight) * (weight - 1) * pow(toFloat64(duration_ms), 2))) AS stalled_ms_error
FROM lagmonitor.sampled FINAL
GROUP BY fingerprint
ORDER BY stalled_ms DESC, fingerprint;
