"""`make soak`: the lab suite every two minutes, with one kill in each third round.

It ends with a table of rounds, and with status 1 where an outcome is not known, a sample is lost, a process,
a mount or a lock is left, or the server's memory grows. All of it lies in a new temporary folder, which stays
where something was wrong.

`ROUNDS=n`, `EVERY_MINUTES=n` and `KILL_EACH=n` change what the names say.
"""

import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table
from soak_host import SoakHost
from soak_rounds import KILLS, Round, run_round

ROUNDS = int(os.environ.get("ROUNDS", "20"))
EVERY_MINUTES = int(os.environ.get("EVERY_MINUTES", "2"))
KILL_EACH = int(os.environ.get("KILL_EACH", "3"))
MEMORY_GROWTH = 1.15
"""The most that the server's memory may be at the end, by what it was when all had run once."""


def main() -> int:
    """Run all rounds; 0 where nothing is wrong."""
    console = Console()
    folder = Path(tempfile.mkdtemp(prefix="s3bench-soak-"))
    host = SoakHost(folder, every_minutes=EVERY_MINUTES)
    console.print(f"soak in {folder}: {ROUNDS} rounds, one each {EVERY_MINUTES} minutes; UI: {host.ui_url}")
    rounds: list[Round] = []
    with host.serving():
        for number in range(1, ROUNDS + 1):
            kill = KILLS[(number // KILL_EACH - 1) % len(KILLS)] if number % KILL_EACH == 0 else None
            rounds.append(run_round(host, number, kill))
            console.print(rounds[-1].line(), markup=False, highlight=False, soft_wrap=True)
    problems = [problem for each in rounds for problem in each.problems]
    problems += host.what_is_left() + _of_samples(host, rounds) + _of_memory(rounds)
    console.print(_table(rounds))
    for problem in problems:
        console.print(f"PROBLEM: {problem}", markup=False, highlight=False, soft_wrap=True)
    if not problems:
        shutil.rmtree(folder)
    console.print(f"{ROUNDS} rounds, {len(problems)} problems")
    return 1 if problems else 0


def _of_samples(host: SoakHost, rounds: list[Round]) -> list[str]:
    """Every complete run has the same number of samples, and every run of the server is in the store."""
    counts = host.samples_of_complete_runs()
    wrong = (
        [f"complete runs have unlike numbers of samples: {counts}"] if len(set(counts.values())) > 1 else []
    )
    completed = sum(each.state == "Completed" for each in rounds)
    if len(counts) != completed:
        wrong.append(f"{completed} runs were completed, {len(counts)} are complete in the store")
    return wrong


def _of_memory(rounds: list[Round]) -> list[str]:
    """Since its last restart, from the second round on."""
    last_pid = rounds[-1].server_pid
    since = [each.server_rss_mib for each in rounds if each.server_pid == last_pid][1:]
    if len(since) < 2:
        return (
            []
            if len(rounds) < KILL_EACH * len(KILLS)
            else ["the server was restarted too often to see its memory"]
        )
    if since[-1] > MEMORY_GROWTH * since[0]:
        return [f"the server's memory grew from {since[0]:.0f} to {since[-1]:.0f} MiB in {len(since)} rounds"]
    return []


def _table(rounds: list[Round]) -> Table:
    table = Table("round", "kill", "state", "s", "blocks seen", "blocks stored", "server MiB", "problems")
    for each in rounds:
        table.add_row(*each.cells())
    return table


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    sys.exit(main())
