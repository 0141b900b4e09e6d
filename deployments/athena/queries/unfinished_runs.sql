-- Which runs did not come to their end, and what they had measured by then: samples without a row in `runs`, which
-- no other query counts. A run that goes on just now is among them.
-- Parameters: since = '2026-11-01', until = '2026-11-30'.
SELECT
  s.dt,
  s.run_id,
  count(*) AS samples,
  count(DISTINCT s.config_id || '/' || s.workload_id) AS cells,
  min(s.started_at) AS first_sample_at,
  max(s.started_at) AS last_sample_at
FROM s3bench.samples_by_night AS s
LEFT JOIN s3bench.runs AS r ON r.dt = s.dt AND r.run_id = s.run_id
WHERE s.dt BETWEEN '2026-11-01' AND '2026-11-30'
  AND r.run_id IS NULL
GROUP BY s.dt, s.run_id
ORDER BY s.dt, s.run_id;
