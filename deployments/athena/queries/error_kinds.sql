-- Which errors there were, by configuration and workload, the most frequent first: from the samples, warm-ups
-- left out. An error without an operation is a cell that failed as a whole.
-- Parameters: schedule = 'nightly', since = '2026-11-01', until = '2026-11-30'.
SELECT
  n.lab,
  n.synthetic,
  s.config_id,
  s.workload_id,
  s.operation,
  s.error,
  s.http_status,
  count(*) AS errors,
  count(DISTINCT s.run_id) AS nights,
  min(n.dt) AS first_dt,
  max(n.dt) AS last_dt,
  min(s.message) AS a_message
FROM s3bench.samples_all AS s
JOIN s3bench.nights AS n ON n.dt = s.dt AND n.run_id = s.run_id
WHERE n.schedule = 'nightly'
  AND s.dt BETWEEN '2026-11-01' AND '2026-11-30'
  AND s.outcome = 'error'
  AND NOT s.warmup
GROUP BY n.lab, n.synthetic, s.config_id, s.workload_id, s.operation, s.error, s.http_status
ORDER BY errors DESC, s.workload_id, s.config_id, s.operation, s.error, s.http_status;
