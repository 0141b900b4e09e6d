CREATE EXTERNAL TABLE IF NOT EXISTS `s3bench`.`nightly` (
  `run_id` string,
  `config_id` string,
  `workload_id` string,
  `operation` string,
  `stage` string,
  `n` bigint,
  `warmups` bigint,
  `errors` bigint,
  `min_ns` bigint,
  `avg_ns` bigint,
  `p50_ns` bigint,
  `p50_low_ns` bigint,
  `p50_high_ns` bigint,
  `p90_ns` bigint,
  `p90_low_ns` bigint,
  `p90_high_ns` bigint,
  `p99_ns` bigint,
  `p99_low_ns` bigint,
  `p99_high_ns` bigint,
  `max_ns` bigint,
  `files` bigint,
  `records` bigint,
  `size_bytes` bigint
)
PARTITIONED BY (`dt` string)
STORED AS PARQUET
LOCATION 's3://amzn-s3-demo-bucket/s3bench/v1/nightly/'
TBLPROPERTIES (
  'classification' = 'parquet',
  'projection.enabled' = 'true',
  'projection.dt.type' = 'date',
  'projection.dt.format' = 'yyyy-MM-dd',
  'projection.dt.range' = '2026-01-01,NOW',
  'projection.dt.interval' = '1',
  'projection.dt.interval.unit' = 'DAYS',
  'storage.location.template' = 's3://amzn-s3-demo-bucket/s3bench/v1/nightly/dt=${dt}/'
);
