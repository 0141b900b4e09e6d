-- What each night cost by the price list, as far as it is known: a sum with cells of unknown price is too small.
SELECT
  n.dt,
  n.scheduled_at,
  n.lab,
  n.synthetic,
  count(*) AS cells,
  sum(CASE WHEN k.usd IS NULL THEN 1 ELSE 0 END) AS cells_of_unknown_price,
  sum(k.operations) AS operations,
  sum(k.usd) AS usd
FROM {database}.costs AS k
JOIN {database}.nights AS n ON n.dt = k.dt AND n.run_id = k.run_id
WHERE n.schedule = {schedule}
  AND k.dt BETWEEN {since} AND {until}
GROUP BY n.dt, n.scheduled_at, n.lab, n.synthetic
ORDER BY n.scheduled_at
