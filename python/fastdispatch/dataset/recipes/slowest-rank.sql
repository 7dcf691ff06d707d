-- Per call path the rank with the most self time, where it is 1.5 times the median or more
SELECT p.key, p.module, r.self_slowest AS slowest_rank, r.self_max / 1e6 AS slowest_ms,
       r.self_median / 1e6 AS median_ms, (r.self_max - r.self_median) / 1e6 AS excess_ms, r.ranks
FROM reduced r JOIN paths p USING (path)
WHERE r.ranks > 2 AND r.self_max > 0 AND r.self_max >= 1.5 * r.self_median AND p.kind <> 'thread'
ORDER BY excess_ms DESC, p.key LIMIT 20
