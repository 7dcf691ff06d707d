-- Call paths that take more time than in the base run: use with --base
SELECT p.key, p.module, b.total / b.ranks / 1e6 AS before_ms, r.total / r.ranks / 1e6 AS after_ms,
       (r.total / r.ranks - b.total / b.ranks) / 1e6 AS growth_ms, b.calls / b.ranks AS calls_before,
       r.calls / r.ranks AS calls_after
FROM reduced r JOIN base.reduced b USING (path) JOIN paths p USING (path)
WHERE p.kind <> 'thread' ORDER BY growth_ms DESC, p.key LIMIT 20
