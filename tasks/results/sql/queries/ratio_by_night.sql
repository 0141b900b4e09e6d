-- One configuration by another, night by night: the ratio of p50, p90, p99 and the mean of the whole operation.
-- Below 1, {config_a_name} took less time than {config_b_name}. p90 of fewer than 7 operations, and p99 of fewer
-- than 69, would be the slowest of them, and has no ratio.
{pairs}
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
ORDER BY scheduled_at, workload_id, operation
