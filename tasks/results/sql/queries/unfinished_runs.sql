-- Which runs did not come to their end, and what they had measured by then: samples without a row in `runs`, which
-- no other query counts. A run that goes on just now is among them.
SELECT
  s.dt,
  s.run_id,
  count(*) AS samples,
  count(DISTINCT s.config_id || '/' || s.workload_id) AS cells,
  min(s.started_at) AS first_sample_at,
  max(s.started_at) AS last_sample_at
FROM {database}.samples_by_night AS s
LEFT JOIN {database}.runs AS r ON r.dt = s.dt AND r.run_id = s.run_id
WHERE s.dt BETWEEN {since} AND {until}
  AND r.run_id IS NULL
GROUP BY s.dt, s.run_id
ORDER BY s.dt, s.run_id
