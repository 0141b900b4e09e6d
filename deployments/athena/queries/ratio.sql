-- One configuration by another over the nights: the geometric mean of the ratios of p50, p90, p99 and the mean, with
-- a 95 % t interval whose unit is the night. Below 1, express-boto3 takes less time than boto3. Of one
-- night there is no interval. Of many intervals between equal configurations 1 in 20 excludes 1 all the same:
-- `s3bench compare --nights` corrects its verdicts for that, which SQL cannot. A tail is left out where all nights
-- together have too few operations for it (p90: 36 a side, p99: 368), a typical night has (7, 69), or too many failed.
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
), ranked AS (
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
LEFT JOIN s3bench.student_t AS t ON t.df = m.nights - 1
WHERE m.nights > 0
ORDER BY m.workload_id, m.operation, m.statistic;
