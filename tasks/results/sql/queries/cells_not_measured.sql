-- Which cells were skipped or failed as a whole, night by night, and why.
SELECT n.dt, n.scheduled_at, n.lab, n.synthetic, c.config_id, c.workload_id, c.status, c.reason
FROM {database}.cells AS c
JOIN {database}.nights AS n ON n.dt = c.dt AND n.run_id = c.run_id
WHERE n.schedule = {schedule}
  AND c.dt BETWEEN {since} AND {until}
  AND c.status <> 'measured'
ORDER BY n.scheduled_at, c.workload_id, c.config_id
