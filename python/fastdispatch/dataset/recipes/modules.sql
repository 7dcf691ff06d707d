-- Time in the forward of each module, with its backward time
SELECT p.module, p.module_class, sum(r.calls) AS calls, sum(r.total) / 1e6 AS forward_ms,
       sum(r.backward) / 1e6 AS backward_ms
FROM reduced r JOIN paths p USING (path)
WHERE p.module IS NOT NULL GROUP BY ALL ORDER BY forward_ms DESC, p.module LIMIT 50
