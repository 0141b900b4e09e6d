-- Every sample of every run that came to its end, once. A run is read from the file of its month where that has
-- all of the run's cells, and from the files that the run wrote where it has not: so nothing is lost or doubled
-- when a month is compacted, or when a run's files arrive after its month was.
CREATE OR REPLACE VIEW {database}.samples_all AS
WITH compacted AS (
  SELECT dt, run_id, count(*) AS cells
  FROM (SELECT DISTINCT dt, run_id, config_id, workload_id FROM {database}.samples_monthly) AS cell
  GROUP BY dt, run_id
), ended AS (
  SELECT
    r.dt,
    r.run_id,
    coalesce(c.cells, 0) = r.cells_measured + r.cells_skipped + r.cells_failed AS in_month
  FROM {database}.runs AS r
  LEFT JOIN compacted AS c ON c.dt = r.dt AND c.run_id = r.run_id
)
SELECT
{monthly_columns}
FROM {database}.samples_monthly AS m
JOIN ended AS e ON e.dt = m.dt AND e.run_id = m.run_id
WHERE e.in_month
UNION ALL
SELECT
{landing_columns}
FROM {database}.samples_by_night AS s
JOIN ended AS e ON e.dt = s.dt AND e.run_id = s.run_id
WHERE NOT e.in_month
