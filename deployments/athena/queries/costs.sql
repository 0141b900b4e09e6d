-- What each cell of a night cost by the price list: for the night, for a million operations, for a GB (2^30 bytes)
-- that was moved, and for a GB that is kept for a month. Null is not known, and `unknown` says why.
-- Parameters: schedule = 'nightly', since = '2026-11-01', until = '2026-11-30'.
SELECT
  n.dt,
  n.scheduled_at,
  n.lab,
  n.synthetic,
  k.config_id,
  k.workload_id,
  k.operations,
  k.usd,
  k.usd_per_million_operations,
  k.usd_per_gb,
  k.usd_per_gb_month,
  k.unknown,
  k.prices_as_of
FROM s3bench.costs AS k
JOIN s3bench.nights AS n ON n.dt = k.dt AND n.run_id = k.run_id
WHERE n.schedule = 'nightly'
  AND k.dt BETWEEN '2026-11-01' AND '2026-11-30'
ORDER BY n.scheduled_at, k.workload_id, k.config_id;
