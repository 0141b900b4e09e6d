"""A lab becomes AWS-shaped and goes down again, and keeps what is the user's own out."""

import os
import re
import shlex
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from configs.errors import UserError
from configs.lab_delays import DEFAULT_DELAYS, Delays, HostDelay, load_delays
from tasks.lab.local_lab import lab_down, lab_status, lab_up, running_lab
from tasks.lab.state import (
    AWS_SHAPED_VARIABLES_TO_UNSET,
    BUCKETS,
    LAB_BUCKET,
    LabFolder,
    LabState,
    read_state,
    shell_exports,
)
from tasks.venues.places import lab_environment

QUICK = Delays(delays=(HostDelay(hosts="*", milliseconds=0.5),))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A lab's folder, down at the end."""
    folder = tmp_path / "a lab's folder"
    yield folder
    lab_down(folder)


def proxies_of(folder: Path) -> list[psutil.Process]:
    """Every proxy of this folder, whoever started it."""
    wanted = str(LabFolder(folder.resolve()).proxy.settings)
    return [item for item in psutil.process_iter(["cmdline"]) if wanted in (item.info["cmdline"] or ())]


def lister(bucket: str) -> list[str]:
    """A program that lists a bucket through Amazon's host name and prints its name."""
    program = f"import boto3; print(boto3.client('s3').list_objects_v2(Bucket='{bucket}')['Name'])"
    return [sys.executable, "-c", program]


def listing(environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(lister(LAB_BUCKET), env=environment, capture_output=True, text=True, check=False)


def test_a_lab_that_is_up_gets_the_proxy_and_keeps_everything_else(folder: Path) -> None:
    plain = lab_up(folder)
    assert proxies_of(folder) == []
    shaped = lab_up(folder, aws_shaped=True)
    assert shaped.model_copy(update={"aws_shaped": None}) == plain
    assert lab_up(folder, aws_shaped=True) == shaped
    assert lab_up(folder) == shaped == lab_status(folder).state
    assert len(proxies_of(folder)) == 1

    ended = lab_down(folder)
    assert ended[0] == "the proxy for Amazon's host names"
    assert ended[-1] == "the S3 server"
    assert proxies_of(folder) == []
    assert lab_status(folder).condition == "down"


def test_a_proxy_that_was_killed_is_seen_and_the_lab_heals_with_its_delays(folder: Path) -> None:
    state = lab_up(folder, aws_shaped=True, delays=QUICK)
    assert state.aws_shaped is not None
    os.kill(state.aws_shaped.proxy.pid, 9)
    while state.aws_shaped.proxy.find() is not None:
        pass
    assert lab_status(folder).condition == "broken"
    assert "the proxy for Amazon's host names has ended" in lab_status(folder).describe()

    healed = lab_up(folder)
    assert lab_status(folder).condition == "up"
    assert healed.aws_shaped is not None
    assert healed.aws_shaped.delays == QUICK
    assert listing(lab_environment(healed, aws_shaped=True)).stdout == f"{LAB_BUCKET}\n"


def test_other_delays_need_another_proxy_only_and_none_keep_those_that_are_there(folder: Path) -> None:
    first = lab_up(folder, aws_shaped=True)
    second = lab_up(folder, aws_shaped=True, delays=QUICK)
    assert first.aws_shaped is not None
    assert second.aws_shaped is not None
    assert first.aws_shaped.delays == load_delays(DEFAULT_DELAYS)
    assert second.aws_shaped.delays == QUICK
    assert (first.server, first.mount) == (second.server, second.mount)
    assert first.aws_shaped.proxy.find() is None
    with running_lab(folder, aws_shaped=True) as used:
        assert used == second
        with pytest.raises(UserError, match="a run uses the lab"):
            lab_up(folder, aws_shaped=True, delays=load_delays(DEFAULT_DELAYS))
    assert lab_status(folder).state == second


def test_the_last_of_two_runs_takes_the_proxy_down_too(folder: Path) -> None:
    with running_lab(folder) as plain:
        with running_lab(folder, aws_shaped=True) as shaped:
            assert shaped.endpoint_url == plain.endpoint_url
        assert lab_status(folder).condition == "up"
        assert len(proxies_of(folder)) == 1
    assert proxies_of(folder) == []
    assert lab_status(folder).condition == "down"


def test_a_proxy_that_cannot_start_is_reported_with_its_log_and_the_plain_lab_stays(
    folder: Path,
) -> None:
    lab_up(folder)
    LabFolder(folder).proxy.ca_file.mkdir(parents=True)
    with pytest.raises(UserError, match=r"proxy did not start(.|\n)*Is a directory"):
        lab_up(folder, aws_shaped=True)
    assert proxies_of(folder) == []
    assert lab_status(folder).condition == "up"


def test_the_shell_lines_reach_amazons_host_names_whatever_the_user_has_set(aws_shaped_lab: LabState) -> None:
    users_own = dict.fromkeys(AWS_SHAPED_VARIABLES_TO_UNSET, "spoils-it") | {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "NO_PROXY": "*",
        "no_proxy": "amazonaws.com",
    }
    result = subprocess.run(
        ["/bin/sh", "-c", f'eval "$(cat)"\n{shlex.join(lister(BUCKETS[-1]))}'],
        input=shell_exports(aws_shaped_lab, aws_shaped=True),
        env=os.environ | users_own,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout == f"{BUCKETS[-1]}\n", result.stderr


@pytest.mark.parametrize("shaped", [True, False])
def test_nothing_of_the_users_proxies_and_authorities_reaches_what_measures(
    aws_shaped_lab: LabState, monkeypatch: pytest.MonkeyPatch, shaped: bool
) -> None:
    mine = {*AWS_SHAPED_VARIABLES_TO_UNSET, "HTTPS_PROXY", "https_proxy", "AWS_CA_BUNDLE", "SSL_CERT_FILE"}
    for name in mine:
        monkeypatch.setenv(name, "mine")
    environment = lab_environment(aws_shaped_lab, aws_shaped=shaped)
    assert "mine" not in environment.values()
    assert ("AWS_ENDPOINT_URL" in environment) is not shaped
    assert ("HTTPS_PROXY" in environment) is shaped
    for name in mine:
        monkeypatch.delenv(name)
    assert listing(environment).stdout == f"{LAB_BUCKET}\n"


def test_a_plain_lab_has_no_environment_for_amazons_host_names(folder: Path) -> None:
    with pytest.raises(UserError, match=r"s3bench lab up --aws-shaped"):
        lab_up(folder).aws_environment()


def test_no_key_of_the_authority_and_no_secret_of_the_lab_can_be_read_by_others(
    aws_shaped_lab: LabState, lab_folder: Path
) -> None:
    assert aws_shaped_lab.aws_shaped is not None
    secret = aws_shaped_lab.secret_access_key.get_secret_value()
    files = LabFolder(lab_folder).proxy
    for file in files.root.iterdir():
        content = file.read_text()
        assert "PRIVATE KEY" not in content
        assert secret not in content or stat.S_IMODE(file.stat().st_mode) == 0o600
    assert secret in files.settings.read_text()
    assert secret not in files.log.read_text()
    proxy = aws_shaped_lab.aws_shaped.proxy.find()
    assert proxy is not None
    assert secret not in " ".join(proxy.cmdline())
    assert secret not in repr(aws_shaped_lab)


def test_the_proxy_listens_on_loopback_only(aws_shaped_lab: LabState) -> None:
    assert aws_shaped_lab.aws_shaped is not None
    proxy = aws_shaped_lab.aws_shaped.proxy.find()
    assert proxy is not None
    listening = [item for item in proxy.net_connections("inet") if item.status == psutil.CONN_LISTEN]
    assert [item.laddr.ip for item in listening] == ["127.0.0.1"]


def test_the_state_file_reads_back_whole_and_one_from_before_has_no_proxy(folder: Path) -> None:
    state = lab_up(folder, aws_shaped=True)
    file = LabFolder(folder).state_file
    assert read_state(file) == state
    before = re.sub(r',\s*"aws_shaped": \{.*\}(?=\s*\}$)', "", file.read_text(), flags=re.DOTALL)
    (folder / "before.json").write_text(before)
    assert read_state(folder / "before.json") == state.model_copy(update={"aws_shaped": None})
