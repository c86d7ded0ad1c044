-- PostgreSQL 15. A line is a jsonb value. Members that are often queried are generated columns.
CREATE TABLE IF NOT EXISTS stall_lines (
    line jsonb NOT NULL,
    event text GENERATED ALWAYS AS (line ->> 'event') STORED,
    id uuid GENERATED ALWAYS AS ((line ->> 'id')::uuid) STORED,
    phase text GENERATED ALWAYS AS (line ->> 'phase') STORED,
    fingerprint text GENERATED ALWAYS AS (line ->> 'fingerprint') STORED,
    duration_ms double precision GENERATED ALWAYS AS ((line -> 'duration_ms')::double precision) STORED
);
CREATE INDEX IF NOT EXISTS stall_lines_fingerprint ON stall_lines (fingerprint) WHERE event = 'stall';
CREATE INDEX IF NOT EXISTS stall_lines_id ON stall_lines (id, phase);

-- Each stall once, by its most complete line. Lines may arrive twice.
CREATE OR REPLACE VIEW stalls AS
SELECT DISTINCT ON (id) id, (line ->> 'time')::timestamptz AS time, phase, fingerprint, duration_ms,
       line ->> 'cause' AS cause, line ->> 'culprit' AS culprit, line ->> 'host_name' AS host_name, line
FROM stall_lines WHERE event = 'stall'
ORDER BY id, phase = 'end' DESC, phase = 'abandoned' DESC;
