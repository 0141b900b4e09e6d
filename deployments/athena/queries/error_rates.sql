-- How many operations failed, by cell and night; warm-ups are in neither count. Cells that failed as a whole are
-- in it with what they had measured; those that measured nothing are in `cells_not_measured`.
-- Parameters: schedule = 'nightly', since = '2026-11-01', until = '2026-11-30'.
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
FROM s3bench.nightly AS q
JOIN s3bench.nights AS n ON n.dt = q.dt AND n.run_id = q.run_id
JOIN s3bench.cells AS c
  ON c.dt = q.dt AND c.run_id = q.run_id AND c.config_id = q.config_id AND c.workload_id = q.workload_id
WHERE n.schedule = 'nightly'
  AND q.dt BETWEEN '2026-11-01' AND '2026-11-30'
  AND q.stage = 'total_ns'
ORDER BY n.scheduled_at, q.workload_id, q.config_id, q.operation;
