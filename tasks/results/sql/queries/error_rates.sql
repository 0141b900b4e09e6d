-- How many operations failed, by cell and night; warm-ups are in neither count. Cells that failed as a whole are
-- in it with what they had measured; those that measured nothing are in `cells_not_measured`.
SELECT
  n.dt,
  n.scheduled_at,
  n.lab,
  n.synthetic,
  q.config_id,
  q.workload_id,
  q.operation,
  c.status AS cell_status,
  q.n + q.errors AS operations,
  q.errors,
  CASE WHEN q.n + q.errors > 0 THEN 100e0 * q.errors / (q.n + q.errors) END AS error_percent
FROM {database}.nightly AS q
JOIN {database}.nights AS n ON n.dt = q.dt AND n.run_id = q.run_id
JOIN {database}.cells AS c
  ON c.dt = q.dt AND c.run_id = q.run_id AND c.config_id = q.config_id AND c.workload_id = q.workload_id
WHERE n.schedule = {schedule}
  AND q.dt BETWEEN {since} AND {until}
  AND q.stage = 'total_ns'
ORDER BY n.scheduled_at, q.workload_id, q.config_id, q.operation
