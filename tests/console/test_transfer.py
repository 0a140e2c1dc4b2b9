"""Exporting a project as a file, and importing one with a preview."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.console.conftest import Visit
from tests.console.installation import Installation
from tests.console.project import Json, Project
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")

HEAD: Json = {"format": "fanion-project", "version": 1}


def flag(key: str, **more: object) -> Json:
    return {"key": key, "filters": {"groups": [{"properties": []}]}, **more}


def choose(page: Page, content: bytes) -> None:
    file = FilePayload(name="shop.json", mimeType="application/json", buffer=content)
    page.locator("input[type=file]").set_input_files(file)


def document(*flags: Json) -> bytes:
    return json.dumps({**HEAD, "flags": flags}).encode()


def test_a_project_is_downloaded_and_read_into_another_one(
    console: Console, project: Project, tmp_path: Path
) -> None:
    project.flag("beta")
    page = console.page
    console.open(project.at("settings?tab=transfer"))
    with page.expect_download() as begun:
        page.get_by_role("button", name="Download export").click()
    path = tmp_path / "export.json"
    begun.value.save_as(path)
    exported = json.loads(path.read_bytes())
    assert [one["key"] for one in exported["flags"]] == ["beta"]
    exported["flags"][0]["name"] = "The next one"

    choose(page, json.dumps({**exported, "flags": [*exported["flags"], flag("later")]}).encode())
    preview = page.get_by_role("region", name="What will happen")
    row = preview.get_by_role("row", name="Feature flags")
    expect(row.get_by_role("cell")).to_have_text(["1", "1", "0", "0"])
    expect(preview.get_by_role("listitem").filter(has_text="beta")).to_contain_text("name")
    console.expect_accessible()
    assert project.get("/feature_flags/")["count"] == 1
    with console.clicks_at_most(1):
        page.get_by_role("button", name="Import 1 new and 1 changed").click()

    console.expect_toast("Imported: 1 created, 1 changed")
    report = page.get_by_role("region", name="What was imported")
    expect(report.get_by_role("row", name="Feature flags")).to_be_visible()
    assert {one["key"] for one in project.get("/feature_flags/")["results"]} == {"beta", "later"}
    page.get_by_role("button", name="Choose another file").click()
    choose(page, document(flag("later")))
    expect(page.get_by_text("Everything in this file is in the project already")).to_be_visible()


def test_a_file_that_cannot_be_imported_says_where_it_is_wrong(
    console: Console, project: Project
) -> None:
    page = console.page
    console.open(project.at("settings?tab=transfer"))
    console.watch.expect_status(400, "/import/")

    choose(page, document(flag("beta", roles=["A"]), flag("gamma", roles=["B"])))
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("flag beta")
    expect(alert).to_contain_text("flag gamma")
    expect(page.get_by_text("This file cannot be imported. Nothing was changed.")).to_be_visible()
    console.expect_accessible()
    page.get_by_role("button", name="Choose another file").click()
    choose(page, document(flag("beta"))[:-4])

    expect(alert).to_contain_text("the document is not JSON: Input data was truncated")


def test_members_are_told_that_administrators_move_projects(
    visit: Visit, installation: Installation, project: Project
) -> None:
    console = visit(installation.member("Mel"))
    console.open(project.at("settings?tab=transfer"))

    expect(console.page.get_by_text("Only administrators and owners export")).to_be_visible()
    expect(console.page.get_by_role("button", name="Download export")).to_be_disabled()
