-- Steps that took twice the median of their rank or more
WITH usual AS (SELECT rank, median("end" - "begin") AS ns FROM steps GROUP BY rank)
SELECT s.rank, s.number AS step, (s."end" - s."begin") / 1e6 AS ms, u.ns / 1e6 AS median_ms
FROM steps s JOIN usual u USING (rank)
WHERE s."end" - s."begin" >= 2 * u.ns ORDER BY ms DESC, s.rank, step LIMIT 50
