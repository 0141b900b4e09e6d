"""What commands that take a suite have in common: which one, what is laid over it, what it may cost."""

from typing import Annotated, Final

import typer

from configs.parameters import BenchmarkParameters

SuiteArgument = Annotated[str, typer.Argument(help="A suite that ships, such as lab, or a YAML file.")]
LogsOption = Annotated[
    str | None,
    typer.Option("--logs-from", help="Copy the CloudTrail logs from this folder or s3://BUCKET/PREFIX."),
]
OnlyOption = Annotated[
    list[str] | None, typer.Option("--only", help="Only this configuration; may be given again.")
]
InLabOption = Annotated[
    bool, typer.Option("--in-lab", help="Run it in the local lab, scaled down, as its lab overlay says.")
]
TargetsOption = Annotated[
    str | None, typer.Option("--targets", help="A YAML file of targets, laid over the suite's own.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="path.to.key=value, laid over the suite; may be given again."),
]
MaxUsdOption = Annotated[
    float,
    typer.Option(
        "--max-usd",
        help="Do not start above this estimate, in US dollars, Lambda by its upper bound; the suite's "
        "max_cost_usd holds too (the smaller one decides), and unknown prices are refused unless that one "
        "is null.",
    ),
]
MAX_USD: Final[float] = BenchmarkParameters.model_fields["max_usd"].default
