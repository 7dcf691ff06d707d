-- Functions and operators by self time over all ranks and paths
SELECT p.key, p.kind, sum(r.calls) AS calls, sum(r.self) / 1e6 AS self_ms
FROM reduced r JOIN paths p USING (path)
WHERE p.kind <> 'thread'
GROUP BY ALL ORDER BY self_ms DESC, p.key LIMIT 20
