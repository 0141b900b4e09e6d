-- Which nights of a schedule there are: `complete`, `failed cells`, `incomplete` (a run of that date began and has
-- no record; of which schedule, nobody knows) or `missing`, one row for each UTC date from the first night with a
-- run of the schedule on. For a schedule of one night a day, 10,000 of them at the most. What tells incomplete
-- from missing is one column of every file of samples in the range: keep it short.
WITH digits AS (
  SELECT digit FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS d (digit)
), dates AS (
  SELECT CAST(
    CAST(
      DATE {since} + INTERVAL '1' DAY * (1000 * a.digit + 100 * b.digit + 10 * c.digit + d.digit) AS date
    ) AS varchar
  ) AS dt
  FROM digits AS a CROSS JOIN digits AS b CROSS JOIN digits AS c CROSS JOIN digits AS d
), mine AS (
  SELECT * FROM {database}.nights WHERE schedule = {schedule} AND dt BETWEEN {since} AND {until}
), unfinished AS (
  SELECT s.dt, min(s.run_id) AS run_id
  FROM {database}.samples_by_night AS s
  LEFT JOIN {database}.runs AS r ON r.dt = s.dt AND r.run_id = s.run_id
  WHERE s.dt BETWEEN {since} AND {until} AND r.run_id IS NULL
  GROUP BY s.dt
)
SELECT
  d.dt,
  CASE
    WHEN m.status = 'complete' THEN 'complete'
    WHEN m.status = 'failed' THEN 'failed cells'
    WHEN u.run_id IS NOT NULL THEN 'incomplete'
    ELSE 'missing'
  END AS state,
  coalesce(m.run_id, u.run_id) AS run_id,
  m.scheduled_at,
  m.lab,
  m.synthetic,
  m.cells_measured,
  m.cells_skipped,
  m.cells_failed
FROM dates AS d
LEFT JOIN mine AS m ON m.dt = d.dt
LEFT JOIN unfinished AS u ON u.dt = d.dt
WHERE d.dt <= {until} AND d.dt >= (SELECT min(dt) FROM mine)
ORDER BY d.dt, m.scheduled_at
