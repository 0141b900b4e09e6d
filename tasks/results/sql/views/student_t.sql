-- Student's t for two-sided 95 % intervals, by degrees of freedom from 1 to 9,999: neither Athena nor DuckDB has the
-- function. Above 100 it is its expansion in 1/df, which is right to nine digits there.
CREATE OR REPLACE VIEW {database}.student_t AS
WITH digits AS (
  SELECT digit FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS d (digit)
), numbers AS (
  SELECT 1000 * a.digit + 100 * b.digit + 10 * c.digit + d.digit AS df
  FROM digits AS a CROSS JOIN digits AS b CROSS JOIN digits AS c CROSS JOIN digits AS d
)
SELECT df, t95
FROM (
  VALUES
{t_rows}
) AS t (df, t95)
UNION ALL
SELECT
  df,
  {t_expansion} AS t95
FROM numbers
WHERE df > 100
