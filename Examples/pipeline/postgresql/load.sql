-- psql -f load.sql < stalls.jsonl. COPY's text format would read the backslashes of JSON; in this csv nothing is special, because no
-- line has the characters 1 and 2 in it.
\copy stall_lines (line) FROM PSTDIN WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
