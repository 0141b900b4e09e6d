CREATE EXTERNAL TABLE IF NOT EXISTS `s3bench`.`costs` (
  `run_id` string,
  `config_id` string,
  `workload_id` string,
  `operations` bigint,
  `put_requests` bigint,
  `get_requests` bigint,
  `list_requests` bigint,
  `head_requests` bigint,
  `sent_bytes` bigint,
  `received_bytes` bigint,
  `usd` double,
  `usd_per_million_operations` double,
  `usd_per_gb` double,
  `usd_per_gb_month` double,
  `unknown` string,
  `prices_as_of` string
)
PARTITIONED BY (`dt` string)
STORED AS PARQUET
LOCATION 's3://amzn-s3-demo-bucket/s3bench/v1/costs/'
TBLPROPERTIES (
  'classification' = 'parquet',
  'projection.enabled' = 'true',
  'projection.dt.type' = 'date',
  'projection.dt.format' = 'yyyy-MM-dd',
  'projection.dt.range' = '2026-01-01,NOW',
  'projection.dt.interval' = '1',
  'projection.dt.interval.unit' = 'DAYS',
  'storage.location.template' = 's3://amzn-s3-demo-bucket/s3bench/v1/costs/dt=${dt}/'
);
