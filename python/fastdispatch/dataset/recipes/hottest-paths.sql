-- The call paths with the most self time over all ranks
SELECT p.key, p.module, p.phase, r.calls, r.self / 1e6 AS self_ms, r.self_median / 1e6 AS median_ms,
       r.self_max / 1e6 AS max_ms, r.self_slowest AS slowest_rank
FROM reduced r JOIN paths p USING (path)
WHERE p.kind <> 'thread'
ORDER BY r.self DESC, p.key LIMIT 20
