-- What became slower or faster, the latest first: the list that `compare-history` wrote, with the method. A change
-- without a configuration is one that all of them share; `watching` is one of the last nights, which may pass.
-- Parameters: schedule = 'nightly', since = '2026-11-01', until = '2026-11-30'.
SELECT
  c.since_dt,
  n.lab,
  n.synthetic,
  c.known_at,
  c.status,
  c.direction,
  c.config_id,
  c.workload_id,
  c.operation,
  c.stage,
  c.statistic,
  c.ratio,
  c.noise,
  c.before_ns / 1e6 AS before_ms,
  c.after_ns / 1e6 AS after_ms,
  c.nights_before,
  c.nights_after,
  c.method,
  c.version
FROM s3bench.changes AS c
LEFT JOIN s3bench.nights AS n
  ON n.dt = c.since_dt AND n.schedule = c.schedule AND n.scheduled_at = c.since_at
WHERE c.schedule = 'nightly'
  AND c.since_dt BETWEEN '2026-11-01' AND '2026-11-30'
ORDER BY c.since_at DESC, c.workload_id, c.config_id, c.operation, c.stage, c.statistic;
