CREATE EXTERNAL TABLE IF NOT EXISTS `s3bench`.`samples_monthly` (
  `dt` string,
  `run_id` string,
  `config_id` string,
  `workload_id` string,
  `operation` string,
  `outcome` string,
  `warmup` boolean,
  `block` int,
  `worker` int,
  `seq` bigint,
  `started_at` timestamp,
  `started_us` bigint,
  `intended_us` bigint,
  `object_key` string,
  `size_bytes` bigint,
  `files` bigint,
  `records` bigint,
  `http_status` int,
  `retries` int,
  `cold` boolean,
  `error` string,
  `message` string,
  `list_ns` bigint,
  `read_ns` bigint,
  `gunzip_ns` bigint,
  `parse_ns` bigint,
  `total_ns` bigint,
  `connect_ns` bigint,
  `tls_ns` bigint,
  `session_ns` bigint,
  `ttfb_ns` bigint,
  `user_ns` bigint,
  `system_ns` bigint,
  `response_ns` bigint
)
PARTITIONED BY (`month` string)
STORED AS PARQUET
LOCATION 's3://amzn-s3-demo-bucket/s3bench/v1/samples_monthly/'
TBLPROPERTIES (
  'classification' = 'parquet',
  'projection.enabled' = 'true',
  'projection.month.type' = 'date',
  'projection.month.format' = 'yyyy-MM',
  'projection.month.range' = '2026-01,NOW',
  'projection.month.interval' = '1',
  'projection.month.interval.unit' = 'MONTHS',
  'storage.location.template' = 's3://amzn-s3-demo-bucket/s3bench/v1/samples_monthly/month=${month}/'
);
