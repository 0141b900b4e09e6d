-- p50, p90 and p99 of every cell and night, from the samples themselves: the whole operation, nearest rank.
-- A quantile is null where its 95 % interval has no upper end (p50 below 6 operations, p90 below 36, p99 below
-- 368), or where so many failed that nobody knows it. The figures are those of the table `nightly`, which costs
-- far less to read: this one is for what `nightly` has not, such as one block or one size, and to check it.
-- Parameters: schedule = 'nightly', since = '2026-11-01', until = '2026-11-30'.
WITH ranked AS (
  SELECT
    n.dt,
    n.scheduled_at,
    n.lab,
    n.synthetic,
    s.config_id,
    s.workload_id,
    s.operation,
    s.outcome,
    s.total_ns,
    row_number() OVER (
      PARTITION BY s.run_id, s.config_id, s.workload_id, s.operation
      ORDER BY CASE WHEN s.outcome = 'ok' THEN 0 ELSE 1 END, s.total_ns
    ) AS place,
    sum(CASE WHEN s.outcome = 'ok' THEN 1 ELSE 0 END) OVER (
      PARTITION BY s.run_id, s.config_id, s.workload_id, s.operation
    ) AS counted,
    sum(CASE WHEN s.outcome = 'ok' THEN 0 ELSE 1 END) OVER (
      PARTITION BY s.run_id, s.config_id, s.workload_id, s.operation
    ) AS failed
  FROM s3bench.samples_all AS s
  JOIN s3bench.nights AS n ON n.dt = s.dt AND n.run_id = s.run_id
  JOIN s3bench.cells AS c
    ON c.dt = s.dt AND c.run_id = s.run_id AND c.config_id = s.config_id AND c.workload_id = s.workload_id
  WHERE n.schedule = 'nightly'
    AND s.dt BETWEEN '2026-11-01' AND '2026-11-30'
    AND c.status = 'measured'
    AND s.outcome IN ('ok', 'error')
    AND s.operation IS NOT NULL
    AND NOT s.warmup
)
SELECT
  dt,
  scheduled_at,
  lab,
  synthetic,
  config_id,
  workload_id,
  operation,
  max(counted) AS n,
  max(failed) AS errors,
  CASE WHEN max(counted) >= 6 AND 100 * max(failed) <= 50 * count(*)
    THEN min(total_ns) FILTER (WHERE outcome = 'ok' AND 100 * place >= 50 * counted) / 1e6 END AS p50_ms,
  CASE WHEN max(counted) >= 36 AND 100 * max(failed) <= 10 * count(*)
    THEN min(total_ns) FILTER (WHERE outcome = 'ok' AND 100 * place >= 90 * counted) / 1e6 END AS p90_ms,
  CASE WHEN max(counted) >= 368 AND 100 * max(failed) <= 1 * count(*)
    THEN min(total_ns) FILTER (WHERE outcome = 'ok' AND 100 * place >= 99 * counted) / 1e6 END AS p99_ms
FROM ranked
GROUP BY dt, scheduled_at, lab, synthetic, config_id, workload_id, operation
ORDER BY scheduled_at, workload_id, config_id, operation;
