"""The commands about what was deployed to AWS: `s3bench targets` and `s3bench leaks`."""

import functools
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from configs.errors import UserError
from configs.loading import raw_suite
from tasks.reports.progress import PatientConsole

if TYPE_CHECKING:
    from tasks.stacks.targets import Places

SuiteOfTargets = Annotated[str, typer.Argument(help="Whose targets: a suite that ships, or a YAML file.")]
FromStacksOption = Annotated[
    str, typer.Option("--from-stacks", help="With what the names of the stacks begin: their parameter Name.")
]
RegionOption = Annotated[
    str | None, typer.Option("--region", help="Where the stacks are; else as your AWS settings say.")
]
EndpointOption = Annotated[
    str | None, typer.Option("--endpoint-url", help="An emulator of AWS in place of AWS.", hidden=True)
]
_EXIT_LEAKS: Final = 1


def targets(  # noqa: PLR0913, PLR0917 - one parameter for each option
    suite: SuiteOfTargets = "nightly",
    from_stacks: FromStacksOption = "s3bench",
    mount: Annotated[
        str, typer.Option("--mount", help="Where this host has mounted S3 Files.")
    ] = "/mnt/s3bench",
    region: RegionOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="Write it to this file; else it is printed.")
    ] = None,
    endpoint_url: EndpointOption = None,
) -> None:
    """Make the targets file of a suite of what the CloudFormation stacks say."""
    from tasks.stacks.clients import Account  # noqa: PLC0415 - keeps other commands quick
    from tasks.stacks.outputs import outputs_of  # noqa: PLC0415 - as above
    from tasks.stacks.targets import SuiteSketch, places_of  # noqa: PLC0415 - as above

    sketch = SuiteSketch.of(raw_suite(suite), suite)
    account = Account(region, endpoint_url)
    client = account.stacks()
    asked = functools.cache(lambda part: outputs_of(client, f"{from_stacks}-{part}"))
    text = _yaml(places_of(sketch, asked, account.region, mount))
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{output}: {error.strerror}: name a file that can be written") from error
    typer.echo(f"{output}: look at it with s3bench doctor {suite} --targets {output}")


def leaks(
    from_stacks: FromStacksOption = "s3bench",
    region: RegionOption = None,
    endpoint_url: EndpointOption = None,
) -> None:
    """List what is ours and still costs money. Ends with status 1 where there is anything, or may be."""
    from tasks.stacks.clients import Account  # noqa: PLC0415 - as above
    from tasks.stacks.leaks import find_leaks, lines_of  # noqa: PLC0415 - as above

    account = Account(region, endpoint_url)
    found = find_leaks(account, from_stacks)
    console = PatientConsole()
    for line in lines_of(found, from_stacks, account.region):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(_EXIT_LEAKS if found.leaks or found.unasked else 0)


def _yaml(places: "Places") -> str:
    from ruamel.yaml import YAML  # noqa: PLC0415 - as above

    yaml = YAML()
    yaml.width = 120
    stream = io.StringIO()
    yaml.dump(places, stream)
    return stream.getvalue()
