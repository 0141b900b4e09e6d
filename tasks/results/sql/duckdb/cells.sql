-- One row for each cell of every run that came to its end: how it ended, and what makes its numbers comparable.
-- `meaning` is equal where the same was asked of the cell, in the lab or not, on a machine of the same kind.
CREATE OR REPLACE VIEW {database}.cells AS
SELECT
  r.dt,
  r.run_id,
  t.cell ->> '$.config_id' AS config_id,
  t.cell ->> '$.workload_id' AS workload_id,
  t.cell ->> '$.status' AS status,
  t.cell ->> '$.reason' AS reason,
  coalesce(t.cell ->> '$.parameters."configuration.clients"', '1') AS clients,
  CASE WHEN r.lab THEN 'lab' ELSE 'not lab' END
    || ' ' || (r.environment_json ->> '$.cpu_model')
    || ' ' || (r.environment_json ->> '$.cpu_count')
    || ' ' || (r.environment_json ->> '$.machine')
    || ' ' || coalesce(CAST(t.cell -> '$.parameters' AS varchar), '') AS meaning
FROM {database}.runs AS r
CROSS JOIN UNNEST(CAST(r.cells_json AS json[])) AS t (cell)
