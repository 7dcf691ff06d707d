-- The innermost call that each thread of each rank had not left
SELECT o.rank, k.host, k.state, o.thread, p.key, o.age / 1e9 AS age_s
FROM open_calls o JOIN ranks k USING (rank) LEFT JOIN paths p ON p.path = o.path
QUALIFY row_number() OVER (PARTITION BY o.rank, o.thread ORDER BY o.age) = 1
ORDER BY o.rank, o.thread
