-- What recordings dropped, capped or did not attribute
SELECT counter, count(*) AS ranks, sum(count) AS events, max(count) AS most FROM counters
GROUP BY counter ORDER BY events DESC, counter
