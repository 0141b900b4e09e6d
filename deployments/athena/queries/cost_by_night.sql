-- What each night cost by the price list, as far as it is known: a sum with cells of unknown price is too small.
-- Parameters: schedule = 'nightly', since = '2026-11-01', until = '2026-11-30'.
SELECT
  n.dt,
  n.scheduled_at,
  n.lab,
  n.synthetic,
  count(*) AS cells,
  sum(CASE WHEN k.usd IS NULL THEN 1 ELSE 0 END) AS cells_of_unknown_price,
  sum(k.operations) AS operations,
  sum(k.usd) AS usd
FROM s3bench.costs AS k
JOIN s3bench.nights AS n ON n.dt = k.dt AND n.run_id = k.run_id
WHERE n.schedule = 'nightly'
  AND k.dt BETWEEN '2026-11-01' AND '2026-11-30'
GROUP BY n.dt, n.scheduled_at, n.lab, n.synthetic
ORDER BY n.scheduled_at;
