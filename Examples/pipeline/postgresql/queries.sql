-- What stalls, worst first.
SELECT fingerprint, count(*) AS stalls, round(sum(duration_ms)) AS total_ms, round(max(duration_ms)) AS worst_ms,
       count(DISTINCT host_name) AS hosts, mode() WITHIN GROUP (ORDER BY cause) AS cause, max(culprit) AS culprit
FROM stalls GROUP BY fingerprint ORDER BY total_ms DESC LIMIT 20;

-- Every frame of the worst stall.
SELECT frame ->> 'symbol' AS symbol, frame ->> 'module' AS module
FROM (SELECT line FROM stalls ORDER BY duration_ms DESC LIMIT 1) AS worst, jsonb_array_elements(line -> 'frames') AS frame;
