-- What became slower or faster, the latest first: the list that `compare-history` wrote, with the method. A change
-- without a configuration is one that all of them share; `watching` is one of the last nights, which may pass.
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
FROM {database}.changes AS c
LEFT JOIN {database}.nights AS n
  ON n.dt = c.since_dt AND n.schedule = c.schedule AND n.scheduled_at = c.since_at
WHERE c.schedule = {schedule}
  AND c.since_dt BETWEEN {since} AND {until}
ORDER BY c.since_at DESC, c.workload_id, c.config_id, c.operation, c.stage, c.statistic
