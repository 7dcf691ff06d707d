-- Forward functions by the backward time they cause
SELECT p.key, p.module, r.calls, r.total / 1e6 AS forward_ms, r.backward / 1e6 AS backward_ms
FROM reduced r JOIN paths p USING (path)
WHERE r.backward > 0 AND p.kind = 'python' ORDER BY r.backward DESC, p.key LIMIT 20
