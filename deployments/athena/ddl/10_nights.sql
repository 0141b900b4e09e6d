-- One row for each night of a schedule that has a run which came to its end. Of several runs that were due at
-- the same moment one counts: one without failed cells before others, then the latest. Runs by hand are no nights.
CREATE OR REPLACE VIEW s3bench.nights AS
SELECT
  dt,
  run_id,
  schedule,
  scheduled_at,
  started_at,
  ended_at,
  status,
  suite,
  suite_sha256,
  lab,
  coalesce(synthetic, false) AS synthetic,
  cells_measured,
  cells_skipped,
  cells_failed
FROM (
  SELECT
    r.*,
    row_number() OVER (
      PARTITION BY r.dt, r.schedule, r.scheduled_at
      ORDER BY CASE WHEN r.status = 'complete' THEN 0 ELSE 1 END, r.started_at DESC, r.run_id DESC
    ) AS place
  FROM s3bench.runs AS r
  WHERE r.schedule IS NOT NULL AND r.scheduled_at IS NOT NULL
) AS ranked
WHERE place = 1;
