CREATE EXTERNAL TABLE IF NOT EXISTS `s3bench`.`changes` (
  `schedule` string,
  `config_id` string,
  `workload_id` string,
  `operation` string,
  `meaning` string,
  `stage` string,
  `statistic` string,
  `direction` string,
  `status` string,
  `since_dt` string,
  `since_at` timestamp,
  `known_at` timestamp,
  `ratio` double,
  `noise` double,
  `before_ns` bigint,
  `after_ns` bigint,
  `nights_before` int,
  `nights_after` int,
  `method` string,
  `version` string,
  `settings_json` string
)
STORED AS PARQUET
LOCATION 's3://amzn-s3-demo-bucket/s3bench/v1/changes/'
TBLPROPERTIES (
  'classification' = 'parquet'
);
