-- Every sample of every run that came to its end, once. A run is read from the file of its month where that has
-- all of the run's cells, and from the files that the run wrote where it has not: so nothing is lost or doubled
-- when a month is compacted, or when a run's files arrive after its month was.
CREATE OR REPLACE VIEW s3bench.samples_all AS
WITH compacted AS (
  SELECT dt, run_id, count(*) AS cells
  FROM (SELECT DISTINCT dt, run_id, config_id, workload_id FROM s3bench.samples_monthly) AS cell
  GROUP BY dt, run_id
), ended AS (
  SELECT
    r.dt,
    r.run_id,
    coalesce(c.cells, 0) = r.cells_measured + r.cells_skipped + r.cells_failed AS in_month
  FROM s3bench.runs AS r
  LEFT JOIN compacted AS c ON c.dt = r.dt AND c.run_id = r.run_id
)
SELECT
  m.dt,
  m.run_id,
  m.config_id,
  m.workload_id,
  m.operation,
  m.outcome,
  m.warmup,
  m.block,
  m.worker,
  m.seq,
  m.started_at,
  m.started_us,
  m.intended_us,
  m.object_key,
  m.size_bytes,
  m.files,
  m.records,
  m.http_status,
  m.retries,
  m.cold,
  m.error,
  m.message,
  m.list_ns,
  m.read_ns,
  m.gunzip_ns,
  m.parse_ns,
  m.total_ns,
  m.connect_ns,
  m.tls_ns,
  m.session_ns,
  m.ttfb_ns,
  m.user_ns,
  m.system_ns,
  m.response_ns
FROM s3bench.samples_monthly AS m
JOIN ended AS e ON e.dt = m.dt AND e.run_id = m.run_id
WHERE e.in_month
UNION ALL
SELECT
  s.dt,
  s.run_id,
  s.config_id,
  s.workload_id,
  s.operation,
  s.outcome,
  s.warmup,
  s.block,
  s.worker,
  s.seq,
  s.started_at,
  s.started_us,
  s.intended_us,
  s.object_key,
  s.size_bytes,
  s.files,
  s.records,
  s.http_status,
  s.retries,
  s.cold,
  s.error,
  s.message,
  s.list_ns,
  s.read_ns,
  s.gunzip_ns,
  s.parse_ns,
  s.total_ns,
  s.connect_ns,
  s.tls_ns,
  s.session_ns,
  s.ttfb_ns,
  s.user_ns,
  s.system_ns,
  s.response_ns
FROM s3bench.samples_by_night AS s
JOIN ended AS e ON e.dt = s.dt AND e.run_id = s.run_id
WHERE NOT e.in_month;
