-- One row for each cell of every run that came to its end: how it ended, and what makes its numbers comparable.
-- `meaning` is equal where the same was asked of the cell, in the lab or not, on a machine of the same kind.
CREATE OR REPLACE VIEW {database}.cells AS
SELECT
  r.dt,
  r.run_id,
  json_extract_scalar(t.cell, '$.config_id') AS config_id,
  json_extract_scalar(t.cell, '$.workload_id') AS workload_id,
  json_extract_scalar(t.cell, '$.status') AS status,
  json_extract_scalar(t.cell, '$.reason') AS reason,
  coalesce(json_extract_scalar(t.cell, '$.parameters["configuration.clients"]'), '1') AS clients,
  CASE WHEN r.lab THEN 'lab' ELSE 'not lab' END
    || ' ' || json_extract_scalar(r.environment_json, '$.cpu_model')
    || ' ' || json_extract_scalar(r.environment_json, '$.cpu_count')
    || ' ' || json_extract_scalar(r.environment_json, '$.machine')
    || ' ' || coalesce(json_format(json_extract(t.cell, '$.parameters')), '') AS meaning
FROM {database}.runs AS r
CROSS JOIN UNNEST(CAST(json_parse(r.cells_json) AS array(json))) AS t (cell)
