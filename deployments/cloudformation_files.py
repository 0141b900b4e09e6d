"""The CloudFormation templates that are made of the schema, the views, the queries and the shipped suites.

`python -m deployments.cloudformation_files` writes them anew; a test holds them equal. The others are written
by hand.
"""

import io
import os
from pathlib import Path
from typing import Final

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from configs.choices import known_configurations
from tasks.results.athena import SINCE_DT, TABLES, VIEWS, StoredTable, columns_of, properties_of, view_sql
from tasks.results.sql_queries import Asked, Query, queries

FOLDER: Final = Path(__file__).with_name("cloudformation")
LARGEST_BYTES: Final = 51_200
"""Of a template that is given to CloudFormation directly (AWS CloudFormation User Guide, quotas)."""

_WHERE: Final = "s3://${Bucket}/results"
_DATABASE: Final = "s3bench"
_SINCE, _UNTIL = "2026-11-01", "2026-11-30"
_RELATIVE: Final = {
    f"DATE '{_SINCE}'": "(current_date - INTERVAL '29' DAY)",
    f"DATE '{_UNTIL}'": "current_date",
    f"'{_SINCE}'": "CAST(current_date - INTERVAL '29' DAY AS varchar)",
    f"'{_UNTIL}'": "CAST(current_date AS varchar)",
}
"""A saved query is asked on any day: it has no dates, but the last thirty nights."""

_ASKED: Final = Asked(schedule="nightly", since=_SINCE, until=_UNTIL)
_OF_TWO: Final = Asked(
    schedule="nightly", since=_SINCE, until=_UNTIL, config_a="express-boto3", config_b="boto3"
)
_MADE: Final = "# Made by python -m deployments.cloudformation_files: change what it is made of.\n"
_NAME: Final = {
    "Type": "String",
    "Default": "s3bench",
    "AllowedPattern": "^[a-z][a-z0-9]{1,11}$",
    "Description": "As in the stack of the buckets.",
}


def cloudformation_files() -> dict[str, str]:
    """The content of each template by its name below the folder."""
    return {"results.yaml": _text(_results()), "queries.yaml": _text(_queries())}


def _results() -> dict[str, object]:
    """Glue's database and tables, and Athena's workgroup."""
    tables = {f"{_camel(table.name)}Table": _table(table) for table in TABLES}
    limit = {
        "Type": "Number",
        "Default": 10_000_000_000,
        "MinValue": 10_000_000,
        "Description": "A query that reads more bytes than this is ended; Athena charges for what is read.",
    }
    settings = {
        "EnforceWorkGroupConfiguration": True,
        "PublishCloudWatchMetricsEnabled": True,
        "BytesScannedCutoffPerQuery": {"Ref": "MostScannedBytes"},
        "EngineVersion": {"SelectedEngineVersion": "Athena engine version 3"},
        "ResultConfiguration": {
            "OutputLocation": _of_bucket("s3://${Bucket}/athena/"),
            "EncryptionConfiguration": {"EncryptionOption": "SSE_S3"},
        },
    }
    workgroup = {
        "Type": "AWS::Athena::WorkGroup",
        "Properties": {
            "Name": {"Ref": "Name"},
            "Description": "Results of s3-access-benchmark",
            "RecursiveDeleteOption": True,
            "WorkGroupConfiguration": settings,
            "Tags": [{"Key": "s3bench", "Value": {"Ref": "Name"}}],
        },
    }
    database = {
        "Type": "AWS::Glue::Database",
        "Properties": {
            "CatalogId": {"Ref": "AWS::AccountId"},
            "DatabaseInput": {"Name": _DATABASE, "Description": "Results of s3-access-benchmark"},
        },
    }
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "Results of s3-access-benchmark as tables for Athena",
        "Parameters": {"Name": _NAME, "MostScannedBytes": limit},
        "Resources": {"Database": database, **tables, "Workgroup": workgroup},
        "Outputs": {
            "Workgroup": {
                "Value": {"Ref": "Workgroup"},
                "Export": {"Name": {"Fn::Sub": "${Name}-Workgroup"}},
            },
            "Database": {"Value": {"Ref": "Database"}},
        },
    }


def _table(table: StoredTable) -> dict[str, object]:
    configuration_ids = sorted(known_configurations())
    properties = properties_of(table, _WHERE, SINCE_DT, configuration_ids)
    parameters: dict[str, object] = {"EXTERNAL": "TRUE", **properties}
    if template := properties.get("storage.location.template"):
        parameters["storage.location.template"] = _of_bucket(_literal(template))
    stored = {
        "Location": _of_bucket(f"{_WHERE}/{table.folder}/"),
        "InputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
        "OutputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
        "SerdeInfo": {
            "SerializationLibrary": "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
            "Parameters": {"serialization.format": "1"},
        },
        "Columns": [{"Name": name, "Type": kind} for name, kind in columns_of(table)],
    }
    return {
        "Type": "AWS::Glue::Table",
        "Properties": {
            "CatalogId": {"Ref": "AWS::AccountId"},
            "DatabaseName": {"Ref": "Database"},
            "TableInput": {
                "Name": table.name,
                "TableType": "EXTERNAL_TABLE",
                "Parameters": parameters,
                "PartitionKeys": [{"Name": name, "Type": "string"} for name in table.partitions],
                "StorageDescriptor": stored,
            },
        },
    }


def _queries() -> dict[str, object]:
    """Athena's named queries: those that make the views, and those that ask."""
    views = {
        f"{_camel(view)}View": _saved(f"view {number}: {view}", view_sql(view, _DATABASE), "Run once.")
        for number, view in enumerate(VIEWS, start=1)
    }
    asked = {f"{_camel(one.name)}Query": _saved(one.name, _of_any_day(one), one.answers) for one in queries()}
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "Questions to the results of s3-access-benchmark for Athena",
        "Parameters": {"Name": _NAME},
        "Resources": {**views, **asked},
    }


def _of_any_day(query: Query) -> str:
    text = query.filled(_OF_TWO if "config_a" in query.parameters else _ASKED, _DATABASE)
    for date, expression in _RELATIVE.items():
        text = text.replace(date, expression)
    return text


def _saved(name: str, sql: str, description: str) -> dict[str, object]:
    return {
        "Type": "AWS::Athena::NamedQuery",
        "Properties": {
            "Name": name,
            "Description": description[:1024],
            "Database": _DATABASE,
            "WorkGroup": {"Fn::ImportValue": {"Fn::Sub": "${Name}-Workgroup"}},
            "QueryString": LiteralScalarString(f"{sql}\n"),
        },
    }


def _of_bucket(text: str) -> dict[str, object]:
    """A text in which `${Bucket}` is the bucket of the results."""
    bucket = {"Fn::ImportValue": {"Fn::Sub": "${Name}-ResultsBucket"}}
    return {"Fn::Sub": [text, {"Bucket": bucket}]}


def _literal(template: str) -> str:
    """What Athena itself fills in stays as it is."""
    return template.replace("${", "${!").replace("${!Bucket}", "${Bucket}")


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _text(template: dict[str, object]) -> str:
    yaml = YAML()
    yaml.default_flow_style = None  # what holds nothing deeper stands in one line
    yaml.width = 120
    yaml.representer.ignore_aliases = lambda _: True  # which CloudFormation refuses
    stream = io.StringIO()
    yaml.dump(template, stream)
    return _MADE + stream.getvalue()


def main() -> None:
    """Write them."""
    os.environ.pop("S3BENCH_SUITES", None)  # suites of one's own do not ship
    for name, content in cloudformation_files().items():
        (FOLDER / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
