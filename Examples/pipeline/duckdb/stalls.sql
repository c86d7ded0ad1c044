-- DuckDB: run `duckdb < stalls.sql` in the folder of the files. It also reads gzip and zstd: '*.jsonl.gz'.
-- DuckDB detects the types. The lines of a stall count once, by the most complete one.
CREATE OR REPLACE VIEW lines AS
SELECT * FROM read_json('stalls.jsonl', format = 'newline_delimited', union_by_name = true, sample_size = -1,
                        maximum_object_size = 2097152, map_inference_threshold = -1);

CREATE OR REPLACE VIEW stalls AS
SELECT * FROM lines WHERE event = 'stall'
QUALIFY row_number() OVER (PARTITION BY id ORDER BY phase = 'end' DESC, phase = 'abandoned' DESC) = 1;

-- What stalls, worst first.
SELECT fingerprint, count(*) AS stalls, round(sum(duration_ms)) AS total_ms, round(quantile_cont(duration_ms, 0.5)) AS p50_ms,
       round(max(duration_ms)) AS worst_ms, count(DISTINCT host_name) AS hosts, mode(cause) AS cause, any_value(culprit) AS culprit
FROM stalls GROUP BY fingerprint ORDER BY total_ms DESC LIMIT 20;
