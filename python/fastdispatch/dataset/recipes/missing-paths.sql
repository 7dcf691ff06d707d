-- Call paths that some ranks do not have
SELECT p.key, p.module, p.kind, r.ranks, r.missing, r.calls, r.total / 1e6 AS total_ms
FROM reduced r JOIN paths p USING (path)
WHERE r.missing > 0 ORDER BY r.total DESC, p.key LIMIT 20
