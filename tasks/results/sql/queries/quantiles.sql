-- p50, p90 and p99 of every cell and night with their 95 % intervals, from the table `nightly`: the whole operation.
-- A quantile is null where its interval has no upper end (p99 below 368 operations, or too many failed); the lower
-- end then says that it is at least so much.
SELECT
  n.dt,
  n.scheduled_at,
  n.lab,
  n.synthetic,
  q.config_id,
  q.workload_id,
  q.operation,
  q.n,
  q.errors,
  CASE WHEN q.p50_high_ns IS NOT NULL THEN q.p50_ns / 1e6 END AS p50_ms,
  q.p50_low_ns / 1e6 AS p50_low_ms,
  q.p50_high_ns / 1e6 AS p50_high_ms,
  CASE WHEN q.p90_high_ns IS NOT NULL THEN q.p90_ns / 1e6 END AS p90_ms,
  q.p90_low_ns / 1e6 AS p90_low_ms,
  q.p90_high_ns / 1e6 AS p90_high_ms,
  CASE WHEN q.p99_high_ns IS NOT NULL THEN q.p99_ns / 1e6 END AS p99_ms,
  q.p99_low_ns / 1e6 AS p99_low_ms,
  q.p99_high_ns / 1e6 AS p99_high_ms
FROM {database}.nightly AS q
JOIN {database}.nights AS n ON n.dt = q.dt AND n.run_id = q.run_id
JOIN {database}.cells AS c
  ON c.dt = q.dt AND c.run_id = q.run_id AND c.config_id = q.config_id AND c.workload_id = q.workload_id
WHERE n.schedule = {schedule}
  AND q.dt BETWEEN {since} AND {until}
  AND q.stage = 'total_ns'
  AND c.status = 'measured'
ORDER BY n.scheduled_at, q.workload_id, q.config_id, q.operation
