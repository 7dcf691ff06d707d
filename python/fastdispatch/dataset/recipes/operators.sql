-- Operators by calls, with their time and the number of call paths
SELECT p.key AS operator, sum(r.calls) AS calls, count(*) AS paths, sum(r.self) / 1e6 AS self_ms
FROM reduced r JOIN paths p USING (path)
WHERE p.kind = 'op' GROUP BY ALL ORDER BY calls DESC, operator LIMIT 50
