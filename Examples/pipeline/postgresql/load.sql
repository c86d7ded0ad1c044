-- psql -f load.sql < stalls.jsonl. COPY's text format would interpret JSON's backslashes. In this csv format no character of a line
-- is special, because lines do not contain the characters 1 and 2.
\copy stall_lines (line) FROM PSTDIN WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
