"""The command `fanion import-events`: its options, previews and dry runs, without a server."""

import gzip
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec import json
from typer.testing import CliRunner, Result

from fanion.cli.app import app

ROW = '{"event": "paid", "timestamp": "2024-05-01", "distinct_id": "ada", "price": 5}\n'


def run(*arguments: object) -> Result:
    environment: dict[str, str | None] = dict.fromkeys(
        name for name in os.environ if name.startswith("FANION_")
    )
    environment["POSTHOG_PERSONAL_API_KEY"] = None
    done = CliRunner().invoke(app, ["import-events", *map(str, arguments)], env=environment)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def refusal_of(*arguments: object) -> str:
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    return done.stderr


@pytest.fixture
def jsonl(tmp_path: Path) -> Path:
    file = tmp_path / "a.jsonl.gz"
    file.write_bytes(gzip.compress(f"{ROW}broken\n{ROW}".encode()))
    return file


def test_a_preview_shows_the_mapping_and_the_first_events(jsonl: Path) -> None:
    shown = run(jsonl, "--from", "jsonl", "--preview")
    preview: Any = json.decode(run(jsonl, "--from", "jsonl", "--preview", "--json").stdout)

    assert shown.exit_code == 0
    assert '"distinct_id": "ada"' in shown.stdout
    assert "a.jsonl.gz, line 2: not JSON: JSON is malformed" in shown.stdout
    assert preview["mapping"] == {
        "event": "event", "timestamp": "timestamp", "distinct_id": "distinct_id",
    }  # fmt: skip
    [first, _] = preview["events"]
    assert (first["event"], first["properties"]) == ("paid", {"price": 5})
    assert preview["rows"] == 3
    assert not list(jsonl.parent.glob("*.import.json"))


def test_a_dry_run_reads_everything_and_exits_with_1_for_refused_rows(jsonl: Path) -> None:
    done = run(jsonl, jsonl, "--from", "jsonl", "--dry-run")

    assert done.exit_code == 1
    assert "Rows read: 6. Events readable (a dry run: nothing was sent): 4." in done.stdout
    assert "Rows refused: 2. The first of them:" in done.stdout
    assert not list(jsonl.parent.glob("*.import.json"))


def test_columns_with_other_names_need_a_mapping(tmp_path: Path) -> None:
    file, mapping = tmp_path / "a.csv", tmp_path / "map.json"
    file.write_text("Name;Time;User\npaid;01.05.2024;ada\n")
    mapping.write_text(
        '{"event": "Name", "timestamp": {"column": "Time", "format": "%d.%m.%Y"},'
        ' "distinct_id": "User"}'
    )

    assert "--preview shows a mapping" in refusal_of(file, "--from", "csv", "--dry-run")
    assert run(file, "--from", "csv", "--preview").exit_code == 0
    done = run(file, "--from", "csv", "--map", mapping, "--preview", "--json")
    assert json.decode(done.stdout)["events"][0]["timestamp"] == "2024-05-01T00:00:00Z"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ([], "Give --project with a personal key, or --key."),
        (["--key", "phc_a", "--project", "1"], "Give --project with a personal key, or --key."),
        (["--project", "1"], "--project needs a personal key"),
        (["--key", "phc_a", "--zone", "Mars"], "'Mars' is not a time zone"),
        (["--key", "phc_a", "--website", "w"], "--website is for Umami."),
        (["--key", "phc_a", "--map", "/nowhere"], "/nowhere cannot be read: No such file"),
        (
            ["--key", "phc_a", "--host", "http://127.0.0.1:9"],
            "http://127.0.0.1:9 cannot be reached",
        ),
        (
            ["--project", "1", "--personal-key", "phx_a", "--host", "http://127.0.0.1:9"],
            "the server cannot be reached",
        ),
    ],
)
def test_wrong_options_are_refused(jsonl: Path, options: list[str], reason: str) -> None:
    assert reason in refusal_of(jsonl, "--from", "jsonl", *options)


def test_a_mapping_is_refused_for_formats_that_have_their_own(jsonl: Path) -> None:
    assert "posthog has its own" in refusal_of(
        jsonl, "--from", "posthog", "--dry-run", "--map", jsonl
    )
    assert "a.jsonl.gz is not a Parquet file" in refusal_of(jsonl, "--from", "parquet", "--dry-run")


def test_broken_lines_are_counted_while_all_others_are_read(tmp_path: Path) -> None:
    header = "event,timestamp,distinct_id,plan"
    breaks = (
        "paid",
        "paid,2024-05-01,ada,pro,more",
        "paid,yesterday,ada,pro",
        ",,,",
        "paid,,ada,pro",
    )
    rows = [
        breaks[n // 10 % len(breaks)] if n % 10 == 0 else f"paid,2024-05-01,user {n},pro"
        for n in range(1_000)
    ]
    file, moved = tmp_path / "a.csv", tmp_path / "b.csv"
    file.write_text("\n".join([header, *rows]) + "\n")
    moved.write_text("plan,distinct_id,new,event,timestamp\npro,bob,1,paid,2024-05-01\n")
    wide = tmp_path / "c.csv"
    wide.write_text(file.read_text(), encoding="utf-16")

    done = run(file, moved, "--from", "csv", "--dry-run")

    assert done.exit_code == 1
    assert "Rows read: 1001. Events readable (a dry run: nothing was sent): 901." in done.stdout
    assert "a.csv, line 2: 1 values, but the header has 4 columns" in done.stdout + done.stderr
    assert "100 rows cannot be imported" in refusal_of(
        file, "--from", "csv", "--dry-run", "--max-errors", 99
    )
    assert "c.csv, line 1: the file is not UTF-8 but UTF-16" in refusal_of(
        wide, "--from", "csv", "--dry-run"
    )
