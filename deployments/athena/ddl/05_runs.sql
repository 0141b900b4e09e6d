CREATE EXTERNAL TABLE IF NOT EXISTS `s3bench`.`runs` (
  `run_id` string,
  `schema_version` int,
  `status` string,
  `suite` string,
  `suite_sha256` string,
  `lab` boolean,
  `seed` bigint,
  `blocks` int,
  `baseline` string,
  `started_at` timestamp,
  `ended_at` timestamp,
  `cells_measured` int,
  `cells_skipped` int,
  `cells_failed` int,
  `git_commit` string,
  `wall_ms` bigint,
  `server_start_ms` bigint,
  `prepare_ms` bigint,
  `wait_ms` bigint,
  `measure_ms` bigint,
  `orchestration_ms` bigint,
  `cells_json` string,
  `datasets_json` string,
  `environment_json` string,
  `harness_json` string,
  `schedule` string,
  `scheduled_at` timestamp,
  `synthetic` boolean,
  `measured_by` string
)
PARTITIONED BY (`dt` string)
STORED AS PARQUET
LOCATION 's3://amzn-s3-demo-bucket/s3bench/v1/runs/'
TBLPROPERTIES (
  'classification' = 'parquet',
  'projection.enabled' = 'true',
  'projection.dt.type' = 'date',
  'projection.dt.format' = 'yyyy-MM-dd',
  'projection.dt.range' = '2026-01-01,NOW',
  'projection.dt.interval' = '1',
  'projection.dt.interval.unit' = 'DAYS',
  'storage.location.template' = 's3://amzn-s3-demo-bucket/s3bench/v1/runs/dt=${dt}/'
);
