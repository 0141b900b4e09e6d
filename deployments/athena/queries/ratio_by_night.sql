-- One configuration by another, night by night: the ratio of p50, p90, p99 and the mean of the whole operation.
-- Below 1, express-boto3 took less time than boto3. p90 of fewer than 7 operations, and p99 of fewer
-- than 69, would be the slowest of them, and has no ratio.
-- Parameters: schedule = 'nightly', since = '2026-11-01', until = '2026-11-30', config_a = 'express-boto3', config_b = 'boto3'.
WITH measured AS (
  SELECT
    n.dt,
    n.scheduled_at,
    n.lab,
    n.synthetic,
    q.run_id,
    q.config_id,
    q.workload_id,
    q.operation,
    q.n,
    q.errors,
    q.files,
    q.records,
    q.size_bytes,
    q.p50_ns,
    q.p90_ns,
    q.p99_ns,
    q.avg_ns,
    c.clients,
    c.meaning
      || ' ' || coalesce(CAST(q.files AS varchar), '')
      || ' ' || coalesce(CAST(q.records AS varchar), '')
      || ' ' || coalesce(CAST(q.size_bytes AS varchar), '') AS meaning
  FROM s3bench.nightly AS q
  JOIN s3bench.nights AS n ON n.dt = q.dt AND n.run_id = q.run_id
  JOIN s3bench.cells AS c
    ON c.dt = q.dt AND c.run_id = q.run_id AND c.config_id = q.config_id AND c.workload_id = q.workload_id
  WHERE n.schedule = 'nightly'
    AND q.dt BETWEEN '2026-11-01' AND '2026-11-30'
    AND q.config_id IN ('express-boto3', 'boto3')
    AND q.stage = 'total_ns'
    AND q.operation NOT IN ('scan_file', 'start_up')
    AND c.status = 'measured'
), series AS (
  -- What a cell means may change, so that its series begins anew: of several meanings the latest counts.
  SELECT
    m.*,
    first_value(m.meaning) OVER (
      PARTITION BY m.config_id, m.workload_id, m.operation, m.synthetic ORDER BY m.scheduled_at DESC
    ) AS latest_meaning
  FROM measured AS m
), pairs AS (
  -- Unlike is never compared: other sizes or clients, or a side of which more than 5 % failed, so that it has survivors only.
  SELECT
    a.dt,
    a.scheduled_at,
    a.lab,
    a.synthetic,
    a.workload_id,
    a.operation,
    a.n AS n_a,
    b.n AS n_b,
    a.errors AS errors_a,
    b.errors AS errors_b,
    a.p50_ns AS p50_a,
    b.p50_ns AS p50_b,
    a.p90_ns AS p90_a,
    b.p90_ns AS p90_b,
    a.p99_ns AS p99_a,
    b.p99_ns AS p99_b,
    a.avg_ns AS mean_a,
    b.avg_ns AS mean_b
  FROM series AS a
  JOIN series AS b ON b.run_id = a.run_id AND b.workload_id = a.workload_id AND b.operation = a.operation
  WHERE a.config_id = 'express-boto3'
    AND b.config_id = 'boto3'
    AND a.meaning = a.latest_meaning
    AND b.meaning = b.latest_meaning
    AND a.clients = b.clients
    AND a.files IS NOT DISTINCT FROM b.files
    AND a.records IS NOT DISTINCT FROM b.records
    AND a.size_bytes IS NOT DISTINCT FROM b.size_bytes
    AND a.n > 0
    AND b.n > 0
    AND 100 * a.errors <= 5 * (a.n + a.errors)
    AND 100 * b.errors <= 5 * (b.n + b.errors)
)
SELECT
  dt,
  scheduled_at,
  lab,
  synthetic,
  workload_id,
  operation,
  n_a,
  n_b,
  p50_a / 1e6 AS p50_a_ms,
  p50_b / 1e6 AS p50_b_ms,
  1e0 * p50_a / p50_b AS p50_ratio,
  CASE WHEN n_a >= 7 AND n_b >= 7 THEN 1e0 * p90_a / p90_b END AS p90_ratio,
  CASE WHEN n_a >= 69 AND n_b >= 69 THEN 1e0 * p99_a / p99_b END AS p99_ratio,
  1e0 * mean_a / mean_b AS mean_ratio
FROM pairs
ORDER BY scheduled_at, workload_id, operation;
