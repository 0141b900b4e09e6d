"""The templates are valid, keep their promises, and can be made and deleted where an emulator knows how."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
import sqlglot
from cfnlint.api import lint_file
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER
from ruamel.yaml import YAML

from configs.choices import known_suites
from configs.loading import load_suite
from deployments.cloudformation_files import FOLDER, LARGEST_BYTES, cloudformation_files
from tasks.results.athena import TABLES, VIEWS
from tasks.results.sql_queries import queries
from tests.emulated_stacks import CODE_BUCKET, REGION, STAND_INS, ZONES, Stacks, templates
from tests.lambda_emulator import running_emulator

PATHS = sorted(FOLDER.glob("*.yaml"))
ORDER = ("storage", "network", "file-systems", "functions", "runner", "results", "queries")


@pytest.fixture(autouse=True)
def _no_suites_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("S3BENCH_SUITES", raising=False)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_cfn_lint_finds_nothing(path: Path) -> None:
    assert [f"{match}" for match in lint_file(path)] == []


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_template_is_given_to_cloudformation_directly(path: Path) -> None:
    assert path.stat().st_size <= LARGEST_BYTES


def test_the_made_templates_are_what_would_be_made_now() -> None:
    for name, content in cloudformation_files().items():
        there = (FOLDER / name).read_text(encoding="utf-8")
        assert there == content, "run `python -m deployments.cloudformation_files`"


def test_everything_that_can_have_a_tag_has_ours() -> None:
    without = []
    for stack, template in templates().items():
        for name, resource in template["Resources"].items():
            schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", resource["Type"]).schema
            able = [key for key in schema["properties"] if key.endswith("Tags")]
            tags = [tag for key in able for tag in resource.get("Properties", {}).get(key, [])]
            if able and {"Key": "s3bench", "Value": {"Ref": "Name"}} not in tags:
                without.append(f"{stack}/{name}")
    # No tag is kept on a gateway endpoint, a policy of a user's own or a route: they cost nothing.
    assert without == ["network/S3Endpoint", "network/S3ExpressEndpoint", "runner/Profile"][: len(without)]


def test_buckets_are_private_encrypted_versioned_and_by_tls_alone() -> None:
    resources = templates()["storage"]["Resources"]
    buckets = {name: one["Properties"] for name, one in resources.items() if one["Type"] == "AWS::S3::Bucket"}
    assert set(buckets) == {"DataBucket", "AcceleratedBucket", "ResultsBucket"}
    for bucket in buckets.values():
        assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
        assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
        assert bucket["BucketEncryption"]
        ids = {rule["Id"] for rule in bucket["LifecycleConfiguration"]["Rules"]}
        assert "old-versions" in ids
    directory = {name for name, one in resources.items() if one["Type"] == "AWS::S3Express::DirectoryBucket"}
    for name in (*buckets, *directory):
        (statement,) = resources[f"{name}Policy"]["Properties"]["PolicyDocument"]["Statement"]
        assert statement["Effect"] == "Deny"
        assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_nothing_comes_into_the_runner_and_its_metadata_wants_a_token() -> None:
    network, runner = (templates()[name]["Resources"] for name in ("network", "runner"))
    assert "SecurityGroupIngress" not in network["ClientSecurityGroup"]["Properties"]
    options = runner["Runner"]["Properties"]["MetadataOptions"]
    assert (options["HttpTokens"], options["HttpPutResponseHopLimit"]) == ("required", 1)


def test_no_policy_allows_a_whole_service_or_what_it_need_not_know_everywhere() -> None:
    for stack, template in templates().items():
        for statement in _statements(template):
            actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
            assert not [one for one in actions if one.endswith(":*") or one == "*"], stack
            if statement["Resource"] == "*":
                assert {one.partition(":")[0] for one in actions} <= {"ec2", "ssm", "ssmmessages"}, stack


def _statements(template: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for resource in template["Resources"].values():
        properties = resource.get("Properties", {})
        documents = [one["PolicyDocument"] for one in properties.get("Policies", [])]
        if resource["Type"] == "AWS::IAM::Policy":
            documents.append(properties["PolicyDocument"])
        for document in documents:
            yield from (one for one in document["Statement"] if one["Effect"] == "Allow")


def test_glue_has_every_table_with_the_columns_of_the_schema() -> None:
    resources = templates()["results"]["Resources"].values()
    tables = {
        one["Properties"]["TableInput"]["Name"]: one["Properties"]["TableInput"]
        for one in resources
        if one["Type"] == "AWS::Glue::Table"
    }
    assert set(tables) == {table.name for table in TABLES}
    for table in TABLES:
        told = tables[table.name]
        assert [column["Name"] for column in told["StorageDescriptor"]["Columns"]] == table.schema.names
        assert [key["Name"] for key in told["PartitionKeys"]] == list(table.partitions)


def test_every_saved_query_is_athenas_and_of_any_day() -> None:
    saved = [one["Properties"] for one in templates()["queries"]["Resources"].values()]
    assert len(saved) == len(VIEWS) + len(queries())
    for query in saved:
        assert len(sqlglot.parse(query["QueryString"], dialect="athena")) == 1, query["Name"]
        assert "2026-11" not in query["QueryString"], query["Name"]


@pytest.fixture(scope="module")
def stacks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stacks]:
    """All stacks, as far as the emulator knows them."""
    with running_emulator(tmp_path_factory.mktemp("stacks")) as url:
        made = Stacks(url)
        made.keep_code()
        for name in ("storage", "network"):
            made.create(name, **ZONES)
        made.create("file-systems")
        for memory_mb in ("128", "512", "1769"):
            made.create(
                "functions",
                f"s3bench-functions-{memory_mb}",
                CodeBucket=CODE_BUCKET,
                CodeKey="lambda.zip",
                MemoryMb=memory_mb,
            )
        made.create("runner", SourceBucket=CODE_BUCKET, SourceKey="source.tar.gz")
        for name in ("results", "queries"):
            made.create(name)
        yield made


def command(stacks: Stacks, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run `s3bench` with the credentials of the emulator."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return subprocess.run(
        [
            *(Path(sys.executable).with_name("s3bench"), *words),
            *("--region", REGION, "--endpoint-url", stacks.how["endpoint_url"]),
        ],
        env=kept | {"AWS_ACCESS_KEY_ID": "123456789012", "AWS_SECRET_ACCESS_KEY": "lab"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("name", [name for name in known_suites() if name not in {"lab", "known-answers"}])
def test_the_stacks_fill_in_every_shipped_suite(stacks: Stacks, tmp_path: Path, name: str) -> None:
    output = tmp_path / "targets.yaml"
    answer = command(stacks, "targets", name, "--output", str(output))
    assert answer.returncode == 0, answer.stderr
    suite = load_suite(name, targets_file=str(output))
    buckets = {getattr(target, "bucket", "") for target in suite.targets.values()} - {""}
    assert buckets <= {
        f"s3bench-data-123456789012-{REGION}",
        f"s3bench-far-123456789012-{REGION}",
        STAND_INS["ExpressBucketA"],
        STAND_INS["ExpressBucketB"],
    }


def test_what_is_accelerated_is_compared_with_itself(stacks: Stacks) -> None:
    told = YAML(typ="safe").load(command(stacks, "targets", "e4-transfer-acceleration").stdout)
    assert told["targets"]["ordinary"] == told["targets"]["accelerated"]


def test_stacks_that_are_not_there_are_named(stacks: Stacks) -> None:
    answer = command(stacks, "targets", "nightly", "--from-stacks", "other")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith(f"s3bench: there is no stack other-storage in {REGION}: deploy it as ")


def test_leaks_are_what_is_billed_and_nothing_is_left_after_the_tear_down(stacks: Stacks) -> None:
    buckets, efs, s3files = (boto3.client(name, **stacks.how) for name in ("s3", "efs", "s3files"))
    data, results = (f"s3bench-{name}-123456789012-{REGION}" for name in ("data", "results"))
    for bucket in (data, results):  # ministack keeps no tags of a stack's buckets, and makes no file systems
        tags = [{"Key": "s3bench", "Value": "s3bench"}]
        buckets.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": tags})
    buckets.put_object(Bucket=data, Key="s3bench/a", Body=b"1")
    buckets.delete_object(Bucket=data, Key="s3bench/a")
    volume = efs.create_file_system(Tags=tags)["FileSystemId"]
    shown = s3files.create_file_system(
        bucket=f"arn:aws:s3:::{data}", roleArn="arn:aws:iam::123456789012:role/s3bench"
    )["fileSystemId"]
    answer = command(stacks, "leaks")
    assert answer.returncode == 1
    billed = [line.split()[1] for line in answer.stdout.splitlines() if line.startswith("✗")]
    prefix = f"{REGION}:123456789012:file-system"
    assert billed == [
        f"arn:aws:elasticfilesystem:{prefix}/{volume}:",
        f"arn:aws:s3:::{data}:",
        f"arn:aws:s3files:{prefix}/{shown}:",
    ], "an empty bucket is not billed, one with nothing but old versions is"
    assert f"3 of s3bench=s3bench in {REGION} cost money" in answer.stdout

    efs.delete_file_system(FileSystemId=volume)
    s3files.delete_file_system(fileSystemId=shown)
    for version in buckets.list_object_versions(Bucket=data).get("Versions", []):
        buckets.delete_object(Bucket=data, Key=version["Key"], VersionId=version["VersionId"])
    for marker in buckets.list_object_versions(Bucket=data).get("DeleteMarkers", []):
        buckets.delete_object(Bucket=data, Key=marker["Key"], VersionId=marker["VersionId"])
    for memory_mb in ("128", "1769"):
        stacks.delete(f"s3bench-functions-{memory_mb}")
    for name in reversed(ORDER):
        stacks.delete(f"s3bench-{name}{'-512' if name == 'functions' else ''}")
    answer = command(stacks, "leaks")
    assert answer.returncode == 0, answer.stdout
    assert answer.stdout.startswith(f"0 of s3bench=s3bench in {REGION} cost money")
