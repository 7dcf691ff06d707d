-- Time in collectives per rank, shortest first: the last rank to arrive does not wait
SELECT f.rank, k.host, sum(f.calls) AS calls, sum(f.total) / 1e6 AS in_collectives_ms
FROM figures f JOIN paths p USING (path) JOIN ranks k USING (rank)
WHERE p.kind = 'op' AND p.key LIKE 'c10d::%'
GROUP BY ALL ORDER BY in_collectives_ms, f.rank
