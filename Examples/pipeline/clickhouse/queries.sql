-- The questions that come first. {name:Type} is a parameter: clickhouse-client --param_service=shop …

-- name: new_fingerprints
-- What stalls in the newest release of a service, and in no release before.
WITH (
    SELECT argMax(service_version, first_hour)
    FROM (SELECT service_version, min(hour) AS first_hour FROM lagmonitor.stalls_hourly
          WHERE service_name = {service:String} GROUP BY service_version)
) AS release
SELECT fingerprint, sum(stalls) AS stalls, sum(stalled_ms) AS stalled_ms, max(hourly.worst_ms) AS worst_ms,
       uniqExactMerge(hourly.hosts) AS hosts, min(hour) AS first_hour, argMax(hourly.culprit, hourly.worst_ms) AS culprit
FROM lagmonitor.stalls_hourly AS hourly
WHERE service_name = {service:String}
GROUP BY fingerprint
HAVING countIf(service_version != release) = 0
ORDER BY stalled_ms DESC, fingerprint;

-- name: worst_hosts
-- Which hosts stood still the longest, and with what.
SELECT host_name, count() AS stalls, sum(duration_ms) AS stalled_ms, max(duration_ms) AS worst_ms,
       uniqExact(fingerprint) AS fingerprints, argMax(culprit, duration_ms) AS culprit
FROM lagmonitor.stalls FINAL
WHERE hour >= {since:DateTime('UTC')}
GROUP BY host_name
ORDER BY stalled_ms DESC, host_name
LIMIT 20;

-- name: hang_rate
-- How many seconds of each hour a host stood still, on average over all hosts that run the program, stalls or not:
-- the lines cannot say how many these are. held_back_s: what lagmond's limits kept out of the lines, by its own account,
-- in the hour in which it said so.
SELECT hour, sum(stalls) AS stalls, toFloat64(sum(stalled_ms)) / 1000 AS stalled_s,
       stalled_s / {hosts:UInt32} AS stalled_s_of_a_host, toFloat64(any(held.ms)) / 1000 AS held_back_s
FROM lagmonitor.stalls_hourly AS hourly
LEFT JOIN (
    SELECT hour, sum(total_ms) AS ms FROM lagmonitor.notices FINAL WHERE event = 'suppressed' GROUP BY hour
) AS held USING (hour)
WHERE hour >= {since:DateTime('UTC')}
GROUP BY hour
ORDER BY hour;

-- name: in_progress
-- What hangs now, or hung when the last word came: a begin line without an end.
SELECT host_name, pid, loop, time, duration_ms, culprit, fingerprint
FROM lagmonitor.stalls FINAL
WHERE phase = 'begin' AND hour >= {since:DateTime('UTC')}
ORDER BY time, host_name;
