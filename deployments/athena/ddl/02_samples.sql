CREATE EXTERNAL TABLE IF NOT EXISTS `s3bench`.`samples` (
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
  `system_ns` bigint
)
PARTITIONED BY (`dt` string, `config` string)
STORED AS PARQUET
LOCATION 's3://amzn-s3-demo-bucket/s3bench/v1/samples/'
TBLPROPERTIES (
  'classification' = 'parquet',
  'projection.enabled' = 'true',
  'projection.dt.type' = 'date',
  'projection.dt.format' = 'yyyy-MM-dd',
  'projection.dt.range' = '2026-01-01,NOW',
  'projection.dt.interval' = '1',
  'projection.dt.interval.unit' = 'DAYS',
  'projection.config.type' = 'enum',
  'projection.config.values' = 'a_s3_sdk,a_s3_sdk_in_vpc,accelerate,accelerate_boto3,accelerated,aws-cli,b_s3_files,boto3,boto3-crt-files,boto3-files,boto3-lab,c_efs,express,express-boto3,express-other-zone,express-same-zone,express_128mb,express_api,express_crt,express_other_az,express_rust,express_same_az,mount,mount-lab,regional,rust,s3_api,s3_api_rust,s3_files,s3_files_on_host,s3_rust,standard,standard_128mb,standard_api,standard_cp,standard_crt,standard_endpoint,standard_endpoint_boto3,standard_rust,standard_s5cmd',
  'storage.location.template' = 's3://amzn-s3-demo-bucket/s3bench/v1/samples/dt=${dt}/config=${config}/'
);
