-- What an operation's time consists of, by cell and night: p50 and mean of each stage, and its share of the mean.
-- Means add up, medians do not. `ttfb_ns` contains connect_ns, tls_ns and session_ns; user_ns and system_ns are
-- processor time beside the others. A stage with a smaller n did not happen in every operation.
SELECT
  n.dt,
  n.scheduled_at,
  n.lab,
  n.synthetic,
  q.config_id,
  q.workload_id,
  q.operation,
  q.stage,
  q.n,
  CASE WHEN q.p50_high_ns IS NOT NULL THEN q.p50_ns / 1e6 END AS p50_ms,
  q.avg_ns / 1e6 AS mean_ms,
  100e0 * q.avg_ns * q.n / max(CASE WHEN q.stage = 'total_ns' THEN 1e0 * q.avg_ns * q.n END) OVER (
    PARTITION BY q.run_id, q.config_id, q.workload_id, q.operation
  ) AS percent_of_mean
FROM {database}.nightly AS q
JOIN {database}.nights AS n ON n.dt = q.dt AND n.run_id = q.run_id
JOIN {database}.cells AS c
  ON c.dt = q.dt AND c.run_id = q.run_id AND c.config_id = q.config_id AND c.workload_id = q.workload_id
WHERE n.schedule = {schedule}
  AND q.dt BETWEEN {since} AND {until}
  AND c.status = 'measured'
  AND q.n > 0
ORDER BY n.scheduled_at, q.workload_id, q.config_id, q.operation, q.stage
