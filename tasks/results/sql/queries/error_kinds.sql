-- Which errors there were, by configuration and workload, the most frequent first: from the samples, warm-ups
-- left out. An error without an operation is a cell that failed as a whole.
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
FROM {database}.samples_all AS s
JOIN {database}.nights AS n ON n.dt = s.dt AND n.run_id = s.run_id
WHERE n.schedule = {schedule}
  AND s.dt BETWEEN {since} AND {until}
  AND s.outcome = 'error'
  AND NOT s.warmup
GROUP BY n.lab, n.synthetic, s.config_id, s.workload_id, s.operation, s.error, s.http_status
ORDER BY errors DESC, s.workload_id, s.config_id, s.operation, s.error, s.http_status
