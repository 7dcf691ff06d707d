-- Call paths whose numbers of calls differ between ranks, with the ranks that differ from most
WITH usual AS (SELECT path, mode(calls) AS calls FROM figures GROUP BY path),
     odd AS (
         SELECT f.path, u.calls AS usual, min(f.calls) AS fewest, max(f.calls) AS most, count(*) AS ranks,
                min(f.rank) AS first_rank
         FROM figures f JOIN usual u USING (path) WHERE f.calls <> u.calls GROUP BY ALL)
SELECT p.key, p.module, p.phase, o.usual, o.fewest, o.most, o.ranks AS different_ranks, o.first_rank
FROM odd o JOIN paths p USING (path)
ORDER BY greatest(o.most, o.usual) - least(o.fewest, o.usual) DESC, p.key LIMIT 20
