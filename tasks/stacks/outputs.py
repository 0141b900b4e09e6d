"""What the stacks of `deployments/cloudformation/` say of themselves."""

from typing import TYPE_CHECKING, Final

from botocore.exceptions import ClientError
from pydantic import BaseModel, Field

from configs.errors import UserError
from tasks.stacks.clients import told

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

READY: Final = frozenset(
    {"CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "IMPORT_COMPLETE"}
)
"""The states of a stack whose outputs hold."""


class _Output(BaseModel):
    name: str = Field(alias="OutputKey")
    value: str = Field(alias="OutputValue")


class _Stack(BaseModel):
    name: str = Field(alias="StackName")
    status: str = Field(alias="StackStatus")
    outputs: list[_Output] = Field(default_factory=list, alias="Outputs")


def outputs_of(client: "CloudFormationClient", stack: str) -> dict[str, str]:
    """The outputs of a stack by their names.

    Args:
        client: of the account and region.
        stack: the whole name of the stack.

    Raises:
        UserError: if there is no such stack, it is not ready, or it cannot be asked for.
    """
    with told(f"ask CloudFormation for the stack {stack}", "cloudformation:DescribeStacks"):
        try:
            answer = client.describe_stacks(StackName=stack)
        except ClientError as error:
            if error.response["Error"]["Code"] == "ValidationError":  # which it says of stacks that are not
                raise UserError(
                    f"there is no stack {stack} in {client.meta.region_name}: deploy it as "
                    "deployments/cloudformation/README.md says, or name another --from-stacks or --region"
                ) from error
            raise
    found = _Stack.model_validate(answer["Stacks"][0])
    if found.status not in READY:
        raise UserError(
            f"stack {found.name} is {found.status}: wait until it is complete, or mend it, and ask again"
        )
    return {one.name: one.value for one in found.outputs}
