-- Mean milliseconds per step of each phase, per rank, of the latest steps
SELECT rank, count(*) AS steps, avg(forward) / 1e6 AS forward_ms, avg(backward) / 1e6 AS backward_ms,
       avg(optimizer) / 1e6 AS optimizer_ms, avg(data) / 1e6 AS data_ms, avg(other) / 1e6 AS other_ms
FROM steps GROUP BY rank ORDER BY rank
