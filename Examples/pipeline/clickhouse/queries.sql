-- The first questions. {name:Type} is a parameter: clickhouse-client --param_service=shop …

-- name: new_fingerprints
-- Which fingerprints stall in the newest release of a service and in no earlier one.
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
-- Which hosts stalled the longest, and with which culprit.
SELECT host_name, count() AS stalls, sum(duration_ms) AS stalled_ms, max(duration_ms) AS worst_ms,
       uniqExact(fingerprint) AS fingerprints, argMax(culprit, duration_ms) AS culprit
FROM lagmonitor.stalls FINAL
WHERE hour >= {since:DateTime('UTC')}
GROUP BY host_name
ORDER BY stalled_ms DESC, host_name
LIMIT 20;

-- name: hang_rate
-- How many seconds of each hour were spent in stalls: in total, and on average over all hosts that run the program. The
-- number of these hosts is a parameter, because hosts without a stall have no lines. held_back_s is the time of the stalls
-- that lagmond's limits held back, as its `suppressed` lines report, in the hour of the line.
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
-- Which loops hang now, or hung when the last line arrived: a begin line without an end line.
SELECT host_name, pid, loop, time, duration_ms, culprit, fingerprint
FROM lagmonitor.stalls FINAL
WHERE phase = 'begin' AND hour >= {since:DateTime('UTC')}
ORDER BY time, host_name;
