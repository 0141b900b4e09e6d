-- Which cells were skipped or failed as a whole, night by night, and why.
-- Parameters: schedule = 'nightly', since = '2026-11-01', until = '2026-11-30'.
SELECT n.dt, n.scheduled_at, n.lab, n.synthetic, c.config_id, c.workload_id, c.status, c.reason
FROM s3bench.cells AS c
JOIN s3bench.nights AS n ON n.dt = c.dt AND n.run_id = c.run_id
WHERE n.schedule = 'nightly'
  AND c.dt BETWEEN '2026-11-01' AND '2026-11-30'
  AND c.status <> 'measured'
ORDER BY n.scheduled_at, c.workload_id, c.config_id;
