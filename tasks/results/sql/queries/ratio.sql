-- One configuration by another over the nights: the geometric mean of the ratios of p50, p90, p99 and the mean, with
-- a 95 % t interval whose unit is the night. Below 1, {config_a_name} takes less time than {config_b_name}. Of one
-- night there is no interval. Of many intervals between equal configurations 1 in 20 excludes 1 all the same:
-- `s3bench compare --nights` corrects its verdicts for that, which SQL cannot. A tail is left out where all nights
-- together have too few operations for it (p90: 36 a side, p99: 368), a typical night has (7, 69), or too many failed.
{pairs}, ranked AS (
  SELECT
    p.*,
    count(*) OVER (PARTITION BY lab, synthetic, workload_id, operation) AS all_nights,
    row_number() OVER (PARTITION BY lab, synthetic, workload_id, operation ORDER BY n_a) AS place_a,
    row_number() OVER (PARTITION BY lab, synthetic, workload_id, operation ORDER BY n_b) AS place_b
  FROM pairs AS p
), ratios AS (
  SELECT
    r.*,
    s.statistic,
    s.least_n,
    s.least_each,
    s.most_failed_percent,
    CASE s.statistic WHEN 'p50' THEN p50_a WHEN 'p90' THEN p90_a WHEN 'p99' THEN p99_a ELSE mean_a END AS time_a,
    CASE s.statistic WHEN 'p50' THEN p50_b WHEN 'p90' THEN p90_b WHEN 'p99' THEN p99_b ELSE mean_b END AS time_b
  FROM ranked AS r
  CROSS JOIN (
    VALUES ('p50', 1, 1, 100), ('p90', 36, 7, 10), ('p99', 368, 69, 1), ('mean', 1, 1, 100)
  ) AS s (statistic, least_n, least_each, most_failed_percent)
), means AS (
  SELECT
    lab,
    synthetic,
    workload_id,
    operation,
    statistic,
    count(*) FILTER (WHERE time_a > 0 AND time_b > 0) AS nights,
    sum(n_a) AS n_a,
    sum(n_b) AS n_b,
    avg(CASE WHEN time_a > 0 AND time_b > 0 THEN ln(1e0 * time_a / time_b) END) AS mean_log,
    stddev_samp(CASE WHEN time_a > 0 AND time_b > 0 THEN ln(1e0 * time_a / time_b) END) AS deviation
  FROM ratios
  GROUP BY lab, synthetic, workload_id, operation, statistic
  HAVING sum(n_a) >= max(least_n)
    AND sum(n_b) >= max(least_n)
    AND min(n_a) FILTER (WHERE 2 * place_a >= all_nights) >= max(least_each)
    AND min(n_b) FILTER (WHERE 2 * place_b >= all_nights) >= max(least_each)
    AND 100 * sum(errors_a) <= max(most_failed_percent) * (sum(n_a) + sum(errors_a))
    AND 100 * sum(errors_b) <= max(most_failed_percent) * (sum(n_b) + sum(errors_b))
)
SELECT
  m.lab,
  m.synthetic,
  m.workload_id,
  m.operation,
  m.statistic,
  m.nights,
  m.n_a,
  m.n_b,
  exp(m.mean_log) AS ratio,
  exp(m.mean_log - t.t95 * m.deviation / sqrt(m.nights)) AS ratio_low,
  exp(m.mean_log + t.t95 * m.deviation / sqrt(m.nights)) AS ratio_high
FROM means AS m
LEFT JOIN {database}.student_t AS t ON t.df = m.nights - 1
WHERE m.nights > 0
ORDER BY m.workload_id, m.operation, m.statistic
