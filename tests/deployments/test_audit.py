"""`make audit`, with the real pip-audit and an advisory service on loopback."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from configs.errors import UserError
from deployments.audit import (
    ACCEPTED,
    Answer,
    Audited,
    Flaw,
    Report,
    accepted_flaws,
    app,
    asked,
    lines_about,
    rounds,
)
from deployments.locked import FOLDER, LOCKS, locked_packages
from tasks.lab.prefect_server import free_port

ROOT = FOLDER.parent
ID = "CVE-2026-0001"
OTHER_ID = "GHSA-0000-0000-0000"
PINS = {(one.name, one.version) for lock in LOCKS for one in locked_packages(FOLDER / f"{lock}.txt")}
Advise = Callable[[str, str], tuple[int, str]]


def flawed(name: str) -> str:
    """A flaw of any version of a package, as OSV tells it."""
    affected = {
        "package": {"name": name, "ecosystem": "PyPI"},
        "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99.0"}]}],
    }
    flaw = {"id": OTHER_ID, "aliases": [ID], "summary": "It is flawed.", "affected": [affected]}
    return json.dumps({"vulns": [flaw]})


@contextmanager
def service(advise: Advise) -> Iterator[tuple[str, set[tuple[str, str]]]]:
    """Its URL, and what it was asked."""
    questions: set[tuple[str, str]] = set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            package = question["package"]["name"], question["version"]
            questions.add(package)
            status, answer = advise(*package)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/query", questions
    finally:
        server.shutdown()
        server.server_close()


def audited(url: str, *options: str) -> Result:
    return CliRunner().invoke(app, [f"--osv-url={url}", *options])


def one_of(name: str) -> Advise:
    return lambda asked_for, _: (200, flawed(name) if asked_for == name else "{}")


def test_every_locked_version_is_asked_for_and_a_flaw_fails() -> None:
    with service(one_of("pywin32")) as (url, questions):  # which is installed nowhere but on Windows
        answer = audited(url)
    assert questions == PINS
    assert answer.exit_code == 1, answer.output
    assert f"FLAW: pywin32 312: {ID}, mended in 99.0" in answer.stdout
    assert "make lock UPGRADE=--upgrade" in answer.stdout


def test_an_accepted_flaw_passes_with_its_reason_by_any_of_its_ids_in_its_package(
    tmp_path: Path,
) -> None:
    path = tmp_path / "accepted.toml"
    path.write_text(
        f'[[flaw]]\nid = "{OTHER_ID}"\npackage = "jinja2"\nreason = "We render no templates of strangers."\n',
        encoding="utf-8",
    )
    flaw = Flaw(id=ID, aliases=[OTHER_ID], fix_versions=["99.0"])
    packages = [Audited(name=name, version="3.1.6", vulns=[flaw]) for name in ("jinja2", "six")]
    assert dict(lines_about(Answer(packages), accepted_flaws(path))) == {
        f"accepted: jinja2 3.1.6: {ID}, mended in 99.0: We render no templates of strangers.": False,
        f"FLAW: six 3.1.6: {ID}, mended in 99.0": True,
    }


def test_an_accepted_flaw_that_is_gone_is_told_unless_not_everything_was_answered(tmp_path: Path) -> None:
    path = tmp_path / "accepted.toml"
    path.write_text(
        '[[flaw]]\nid = "CVE-1"\npackage = "a"\nreason = "Nothing of ours calls it at all."\n',
        encoding="utf-8",
    )
    known = accepted_flaws(path)
    assert [line for line, _ in lines_about(Answer(), known)] == [
        "no longer there: a CVE-1: take it out of accepted.toml"
    ]
    assert list(lines_about(Answer(unanswered="none"), known)) == []


def refusing(status: int) -> Advise:
    return lambda _name, _version: (status, "")


@pytest.mark.parametrize("status", [503, *(pytest.param(one, marks=pytest.mark.slow) for one in (403, 429))])
def test_a_service_that_refuses_is_no_audit(status: int) -> None:
    with service(refusing(status)) as (url, _):
        assert "ServiceError" in asked({("six", "1.17.0")}, url, 60).unanswered


@pytest.mark.slow
def test_a_page_of_somebody_else_is_no_audit() -> None:
    with service(lambda _name, _version: (200, "<html>please sign in</html>")) as (url, _):
        assert "JSONDecodeError" in asked({("six", "1.17.0")}, url, 60).unanswered


def test_where_nothing_answers_it_says_so_loudly_and_passes() -> None:
    answer = audited(f"http://127.0.0.1:{free_port()}/")
    assert answer.exit_code == 0, answer.output
    assert answer.stdout.startswith(
        f"NOT AUDITED: no advisory service answers for the {len(PINS)} packages: "
    )
    assert "no known flaw" not in answer.stdout


@pytest.mark.slow
def test_a_service_that_hangs_is_waited_for_no_longer_than_it_may_take() -> None:
    released = threading.Event()

    def hang(_name: str, _version: str) -> tuple[int, str]:
        released.wait(30)
        return 500, ""

    with service(hang) as (url, questions):
        began = time.monotonic()
        answer = asked({("six", "1.17.0")}, url, 2)
        elapsed_s = time.monotonic() - began
        released.set()
    assert (answer.unanswered, questions) == ("it takes too long", {("six", "1.17.0")})
    assert elapsed_s < 10


@pytest.mark.slow
def test_a_flaw_counts_even_where_the_service_then_fails() -> None:
    def first_only(name: str, version: str) -> tuple[int, str]:
        return (200, flawed(name)) if version == "1.0" else (503, "")

    with service(first_only) as (url, _):
        answer = asked({("six", "1.0"), ("six", "2.0")}, url, 60)
    assert answer.unanswered
    assert [must_be_mended for _, must_be_mended in lines_about(answer, [])] == [True]


def test_a_package_that_the_service_does_not_know_was_not_audited(monkeypatch: pytest.MonkeyPatch) -> None:
    told = '{"dependencies": [{"name": "six", "skip_reason": "Dependency not found"}], "fixes": []}'
    packages = Report.model_validate_json(told).dependencies
    monkeypatch.setattr("deployments.audit._asked_once", lambda *_: Answer(packages))
    assert asked({("six", "1.17.0")}, "", 1).unanswered == "it does not know 1 packages, such as six"


def test_versions_of_one_package_are_asked_for_one_after_the_other() -> None:
    assert rounds({("a", "1"), ("a", "2"), ("b", "1")}) == [{"a": "1", "b": "1"}, {"a": "2"}]


@pytest.mark.parametrize(
    "text",
    [
        '[[flaw]]\nid = "CVE-1"\npackage = "a"\n',
        '[[flaw]]\nid = "CVE-1"\npackage = "a"\nreason = "fine"\n',
        '[[flaw]]\nid = "CVE-1"\npackage = "a"\nreason = "Nothing of ours calls it at all."\nuntil = 1\n',
        "flaw",
    ],
)
def test_a_flaw_is_accepted_with_a_reason_or_not_at_all(tmp_path: Path, text: str) -> None:
    path = tmp_path / "accepted.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"^accepted\.toml: "):
        accepted_flaws(path)


def test_what_is_accepted_can_be_read_and_is_locked() -> None:
    assert {one.package for one in accepted_flaws(ACCEPTED)} <= {name for name, _ in PINS}


def test_ci_audits_before_the_tests_whose_line_comes_last() -> None:
    commands = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()[-3:]
    assert commands == ["make check", "make audit", "make test"]
