-- Percentiles of the step time per rank, of the latest steps that the recordings keep
SELECT rank, count(*) AS steps, quantile_cont("end" - "begin", 0.5) / 1e6 AS p50_ms,
       quantile_cont("end" - "begin", 0.95) / 1e6 AS p95_ms, quantile_cont("end" - "begin", 0.99) / 1e6 AS p99_ms,
       max("end" - "begin") / 1e6 AS max_ms
FROM steps GROUP BY rank ORDER BY rank
