"""The stacks in ministack: of each template what the emulator knows, with stand-ins for the rest."""

import io
import time
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
from cfnlint.decode import cfn_yaml
from ruamel.yaml import YAML

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

FOLDER = Path(__file__).resolve().parents[1] / "deployments" / "cloudformation"
REGION = "ap-northeast-1"
ZONES = {"ZoneIdA": "apne1-az4", "ZoneIdB": "apne1-az1"}
CODE_BUCKET = "amzn-s3-demo-bucket"

UNKNOWN = (
    "AWS::S3Express::",
    "AWS::S3Files::",
    "AWS::EFS::",
    "AWS::Glue::",
    "AWS::Athena::",
    "AWS::EC2::Instance",
)
"""Types that ministack 1.4.21 cannot make."""

STAND_INS = {
    "S3FilesFileSystemId": "fs-0123456789abcdef0",
    "S3FilesFileSystemArn": f"arn:aws:s3files:{REGION}:123456789012:file-system/fs-0123456789abcdef0",
    "S3FilesAccessPointId": "fsap-0123456789abcdef0",
    "S3FilesAccessPointArn": (
        f"arn:aws:s3files:{REGION}:123456789012:file-system/fs-0123456789abcdef0/"
        "access-point/fsap-0123456789abcdef0"
    ),
    "S3FilesRootPrefix": "s3bench/",
    "EfsFileSystemArn": f"arn:aws:elasticfilesystem:{REGION}:123456789012:file-system/fs-0123456789abcdef1",
    "EfsAccessPointArn": (
        f"arn:aws:elasticfilesystem:{REGION}:123456789012:access-point/fsap-0123456789abcdef1"
    ),
    "ExpressBucketA": "s3bench-123456789012--apne1-az4--x-s3",
    "ExpressBucketB": "s3bench-123456789012--apne1-az1--x-s3",
}
"""What the outputs of unknown resources would be, by their names."""


def templates() -> dict[str, dict[str, Any]]:
    """All templates by the names of their files, short forms of functions written out."""
    return {path.stem: template(path) for path in sorted(FOLDER.glob("*.yaml"))}


def template(path: Path) -> dict[str, Any]:
    """One template in plain containers."""
    return _plain(cfn_yaml.load(str(path)))


def _plain(node: Any) -> Any:
    if isinstance(node, dict):
        return {str(key): _plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_plain(item) for item in node]
    return str(node) if isinstance(node, str) else node


def known_part(whole: Mapping[str, Any]) -> dict[str, Any]:
    """A template without what the emulator cannot make, whose outputs become stand-ins."""
    resources = {name: one for name, one in whole["Resources"].items() if not one["Type"].startswith(UNKNOWN)}
    gone = set(whole["Resources"]) - set(resources)
    outputs = {
        name: {**one, "Value": STAND_INS.get(name, "none")} if gone & set(_named(one["Value"])) else one
        for name, one in whole.get("Outputs", {}).items()
    }
    resources = {name: one for name, one in resources.items() if not gone & set(_named(one))}
    parameters = {name: one for name, one in whole["Parameters"].items() if name != "Image"}
    if not resources:  # a stack has one at the least
        resources = {"Nothing": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}
    return {**whole, "Parameters": parameters, "Resources": resources, "Outputs": outputs}


def _named(node: Any) -> Iterator[str]:
    """The resources that something refers to."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "Ref":
                yield str(value)
            elif key == "Fn::GetAtt":
                yield str(value[0] if isinstance(value, list) else str(value).partition(".")[0])
            else:
                yield from _named(value)
    elif isinstance(node, list):
        for item in node:
            yield from _named(item)


class Stacks:
    """The stacks in a running emulator."""

    def __init__(self, url: str) -> None:
        self.how: dict[str, Any] = {
            "endpoint_url": url,
            "region_name": REGION,
            "aws_access_key_id": "123456789012",  # which makes it that account's
            "aws_secret_access_key": "lab",
        }
        self.client: CloudFormationClient = boto3.client("cloudformation", **self.how)

    def keep_code(self) -> None:
        """Put a package where the functions' template finds it."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as code:
            code.writestr("tasks/venues/lambda_handler.py", "def handler(event, context):\n    return {}\n")
        buckets = boto3.client("s3", **self.how)
        buckets.create_bucket(Bucket=CODE_BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        buckets.put_object(Bucket=CODE_BUCKET, Key="lambda.zip", Body=packed.getvalue())

    def create(self, name: str, stack: str | None = None, **parameters: str) -> None:
        """Make the known part of a template a stack, and wait for it."""
        stack = stack or f"s3bench-{name}"
        text = io.StringIO()
        YAML().dump(known_part(template(FOLDER / f"{name}.yaml")), text)
        self.client.create_stack(
            StackName=stack,
            TemplateBody=text.getvalue(),
            Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
            Capabilities=["CAPABILITY_IAM"],
        )
        assert self.status(stack) == "CREATE_COMPLETE", self.why(stack)

    def delete(self, stack: str) -> None:
        """Delete a stack, and wait until it is gone."""
        self.client.delete_stack(StackName=stack)
        assert self.status(stack) == "DELETE_COMPLETE", self.why(stack)

    def status(self, stack: str) -> str:
        """In which state it comes to rest."""
        for _ in range(200):
            try:
                found = self.client.describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"]
            except self.client.exceptions.ClientError:
                return "DELETE_COMPLETE"
            if not found.endswith("IN_PROGRESS"):
                return found
            time.sleep(0.05)
        return "never"

    def why(self, stack: str) -> list[str]:
        """What went wrong."""
        events = self.client.describe_stack_events(StackName=stack)["StackEvents"]
        return [
            f"{one['LogicalResourceId']}: {one.get('ResourceStatusReason')}"
            for one in events
            if "FAILED" in one["ResourceStatus"]
        ]
