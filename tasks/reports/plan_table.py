"""The plan of a suite, as a table: what would run, and what it would cost."""

from rich.console import Console
from rich.table import Table

from configs.suite import Suite
from tasks.reports import wording
from tasks.stats.cost import load_prices
from tasks.workloads.cell_costs import cell_costs
from tasks.workloads.lambda_costs import lambda_bound, lambda_prices
from tasks.workloads.plan import SuitePlan, cost_of, tariff_of

_ANY_WIDTH = 1000


def render_plan(suite: Suite, plan: SuitePlan, console: Console) -> None:
    """Print what a suite would do."""
    console.print(f"[bold]{suite.name}[/bold]: {len(plan.cells)} cells in {suite.blocks} blocks each")
    table = Table(box=None, pad_edge=False)
    for name in ("workload", "configuration"):
        table.add_column(name, no_wrap=True)
    # In the lab nothing is billed, as the last line says.
    costs = () if suite.lab else cell_costs(suite, plan)
    usd = {(cost.config_id, cost.workload_id): wording.usd(cost.usd) for cost in costs}
    for name in ("operations", "requests", "read", "written", *(["USD"] if usd else [])):
        table.add_column(name, justify="right", no_wrap=True)
    for cell in plan.cells:
        requests = cell.requests
        total = None if requests is None else requests.get + requests.put + requests.list + requests.head
        table.add_row(
            cell.cell.workload_id,
            cell.cell.config_id,
            f"{cell.operations:,}",
            "not known" if total is None else f"{total:,}",
            "not known" if cell.bytes_read is None else wording.size(cell.bytes_read),
            wording.size(cell.bytes_written),
            *([usd.get((cell.cell.config_id, cell.cell.workload_id), wording.NONE)] if usd else []),
        )
    # As wide as it is, even where a line is shorter: rich would cut names and figures off.
    table.width = console.measure(table, options=console.options.update_width(_ANY_WIDTH)).maximum
    console.print(table, crop=False)
    for line in [*cost_lines(suite, plan), *([] if suite.lab else _price_lines(suite))]:
        console.print(line, markup=False, highlight=False)


def _price_lines(suite: Suite) -> list[str]:
    """Where the prices are from."""
    prices = load_prices()
    tariffs = dict.fromkeys(tariff_of(suite, target_id) for target_id in suite.target_ids())
    rows = {name: row for tariff in tariffs for name, row in prices.rows_of(tariff).items()}
    rows |= {
        name: (None, "") if row is None else (row.as_of, row.source)
        for name, row in lambda_prices(suite).items()
    }
    return [
        f"prices of {name}: {'not known' if as_of is None else f'{source}, {as_of}'}"
        for name, (as_of, source) in rows.items()
    ]


def cost_lines(suite: Suite, plan: SuitePlan) -> list[str]:
    """The requests, bytes and dollars of a run, and what is not known of them: said before it starts."""
    counts = plan.requests
    lines = [
        (
            f"prepared once: {wording.size(counts.stored_bytes)}; in all {counts.get:,} GET, "
            f"{counts.put:,} PUT, {counts.list:,} LIST, {counts.head:,} HEAD, {counts.delete:,} DELETE"
        ),
        *(f"not counted: {what}" for what in plan.unknown),
        *(f"skipped: {name}: {reason}" for name, reason in plan.left_out.items()),
    ]
    if suite.lab:
        return [*lines, "cost: none, since it runs in the local lab"]
    cost = cost_of(suite, plan)
    bound = lambda_bound(suite, plan.cells)
    missing = (*cost.unknown, *bound.unknown)
    unknown = f"; unknown: {'; '.join(missing)}" if missing else ""
    compute = f", and at most {bound.usd:.4f} USD for Lambda" if bound.usd else ""
    return [*lines, f"cost: about {cost.usd:.4f} USD for requests and a month's storage{compute}{unknown}"]
