"""What is counted beforehand is what real clients send: they are watched on their way to a real S3 server."""

import http.client
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import boto3
import pytest
from boto3.s3.transfer import S3Transfer, TransferConfig

from configs.access_paths import AccessPathConfig, AwsCli, S5cmd, TransferManager
from configs.datasets import Blobs, FileTree
from configs.loading import parse_suite
from configs.suite import Suite
from tasks.workloads.requests import plan_cell

MIB = 1024**2


class Watched:
    """A relay on loopback that counts the requests that pass it."""

    def __init__(self, server_url: str) -> None:
        self.requests: Counter[str] = Counter()
        self._relay = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self.requests, server_url))
        threading.Thread(target=self._relay.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._relay.server_address[1]}"

    def close(self) -> None:
        self._relay.shutdown()
        self._relay.server_close()


def _handler(requests: Counter[str], server_url: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def relay(self) -> None:
            listing = self.command == "GET" and "list-type=2" in self.path
            requests["LIST" if listing else self.command] += 1
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            server = http.client.HTTPConnection(urlsplit(server_url).netloc)
            server.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() != "expect":
                    server.putheader(name, value)
            server.endheaders(body)
            with server.getresponse() as answer:
                data = answer.read()
                size = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(data))
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in {"transfer-encoding", "content-length", "date", "server"}:
                        self.send_header(name, value)
            self.send_header("Content-Length", size or "0")
            self.end_headers()
            self.wfile.write(data)
            server.close()

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = relay  # noqa: N815 - http.server's names

        def log_message(self, *_: object) -> None:
            """Prints nothing."""

    return Handler


@pytest.fixture
def watched(s3_endpoint_url: str) -> Iterator[Watched]:
    relay = Watched(s3_endpoint_url)
    yield relay
    relay.close()


def suite_of(access_path: AccessPathConfig, size_bytes: int) -> Suite:
    suite = parse_suite(
        """
version: 1
name: one
blocks: 1
targets: {bucket: {kind: bucket, bucket: some-bucket}}
configurations: {c: {access_path: {kind: aws_cli}, target: bucket}}
datasets: {d: {kind: blobs, size: 1}, t: {kind: file_tree, files: 3, mean_size: 1000}}
workloads:
  up: {kind: file_upload, size: 1, iterations: 1, warmup: 0}
  down: {kind: file_download, dataset: d, iterations: 1, warmup: 0}
  tree-up: {kind: tree_upload, dataset: t, iterations: 1}
  tree-down: {kind: tree_download, dataset: t, iterations: 1}
""",
        "s.yaml",
    )
    configuration = suite.configurations["c"].model_copy(update={"access_path": access_path})
    sized = {name: suite.workloads[name] for name in suite.workloads}
    sized["up"] = sized["up"].model_copy(update={"size": size_bytes})
    return suite.model_copy(
        update={
            "configurations": {"c": configuration},
            "workloads": sized,
            "datasets": {
                "d": Blobs.model_validate({"size": size_bytes}),
                "t": FileTree(files=3, mean_size=1000),
            },
        }
    )


def counted(access_path: AccessPathConfig, workload_id: str, size_bytes: int = 1) -> dict[str, int]:
    """What the plan says of one operation, without what we ask before and after it."""
    suite = suite_of(access_path, size_bytes)
    cell = next(cell for cell in suite.cells() if cell.workload_id == workload_id)
    found = plan_cell(suite, cell, (3, 3000)).requests
    assert found is not None
    ours = {"up": {"LIST": 1}, "tree-up": {"LIST": 1}}.get(workload_id, {})
    opened = access_path.threads if isinstance(access_path, TransferManager) else 1
    sent = {"PUT": found.put, "GET": found.get, "HEAD": found.head, "LIST": found.list - opened}
    return {kind: count - ours.get(kind, 0) for kind, count in sent.items() if count - ours.get(kind, 0)}


def seen(watched: Watched) -> dict[str, int]:
    """What went past, a POST that begins or ends an upload in parts being charged as a PUT."""
    requests = dict(watched.requests)
    requests["PUT"] = requests.get("PUT", 0) + requests.pop("POST", 0)
    watched.requests.clear()
    return {kind: count for kind, count in requests.items() if count}


@pytest.mark.parametrize("size_bytes", [1, 8 * MIB - 1, 8 * MIB, 20 * MIB])
def test_the_transfer_manager_sends_what_was_counted(
    watched: Watched, bucket: str, tmp_path: Path, size_bytes: int
) -> None:
    config = TransferManager()
    client = boto3.client(
        "s3",
        endpoint_url=watched.url,
        region_name="us-east-1",
        aws_access_key_id="testkey",
        aws_secret_access_key="testsecret",
    )
    transfer = S3Transfer(
        client,
        TransferConfig(multipart_threshold=config.multipart_threshold, multipart_chunksize=config.part_size),
    )
    (tmp_path / "up").write_bytes(bytes(size_bytes))
    transfer.upload_file(str(tmp_path / "up"), bucket, "key")
    assert seen(watched) == counted(config, "up", size_bytes)
    transfer.download_file(bucket, "key", str(tmp_path / "down"))
    assert seen(watched) == counted(config, "down", size_bytes)


@pytest.mark.slow
@pytest.mark.parametrize(("config", "command"), [(AwsCli(), "aws s3 cp"), (S5cmd(), "s5cmd cp")])
def test_a_command_line_sends_what_was_counted(
    watched: Watched, bucket: str, tmp_path: Path, config: AccessPathConfig, command: str
) -> None:
    size_bytes = 60 * MIB if isinstance(config, S5cmd) else 20 * MIB
    (tmp_path / "up").write_bytes(bytes(size_bytes))
    run(watched, command, f"{tmp_path}/up", f"s3://{bucket}/key")
    assert seen(watched) == counted(config, "up", size_bytes)
    run(watched, command, f"s3://{bucket}/key", f"{tmp_path}/down")
    assert seen(watched) == counted(config, "down", size_bytes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "command"),
    [
        (AwsCli(), "aws s3 sync"),
        (AwsCli(tree_command="cp"), "aws s3 cp --recursive"),
        (S5cmd(), "s5cmd cp"),
    ],
)
def test_a_command_line_moves_a_tree_with_what_was_counted(
    watched: Watched, bucket: str, tmp_path: Path, config: AccessPathConfig, command: str
) -> None:
    (tmp_path / "tree" / "below").mkdir(parents=True)
    for name in ("a", "b", "below/c"):
        (tmp_path / "tree" / name).write_bytes(bytes(1000))
    run(watched, command, f"{tmp_path}/tree/", f"s3://{bucket}/tree/")
    assert seen(watched) == counted(config, "tree-up")
    everything = "*" if isinstance(config, S5cmd) else ""
    run(watched, command, f"s3://{bucket}/tree/{everything}", f"{tmp_path}/down/")
    assert seen(watched) == counted(config, "tree-down")


def run(watched: Watched, command: str, source: str, destination: str) -> None:
    """Run a client that reaches the server past the relay."""
    program, *words = command.split()
    own = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    subprocess.run(
        [Path(sys.executable).with_name(program), *words, source, destination],
        env={
            **own,
            "AWS_ACCESS_KEY_ID": "testkey",
            "AWS_SECRET_ACCESS_KEY": "testsecret",
            "AWS_REGION": "us-east-1",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
            "AWS_ENDPOINT_URL": watched.url,
            "S3_ENDPOINT_URL": watched.url,
        },
        check=True,
        capture_output=True,
    )
