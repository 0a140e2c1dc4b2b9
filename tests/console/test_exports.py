"""Exports and imports in the console: a batch export is made, paused and deleted."""

import pytest
from playwright.sync_api import expect

from tests.console.project import Project
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")


def test_an_export_is_made_changed_paused_and_deleted(console: Console, project: Project) -> None:
    page = console.page
    console.open(project.at("exports"))
    expect(page.get_by_role("heading", name="No exports yet")).to_be_visible()

    page.get_by_role("button", name="New export").click()
    for label, text in (
        ("Name", "Warehouse"),
        ("Bucket", "Not a bucket"),
        ("Region", "eu-central-1"),
        ("Access key ID", "AKIA"),
        ("Secret access key", "secret"),
    ):
        page.get_by_label(label, exact=True).fill(text)
    console.expect_accessible()
    console.watch.expect_status(400, "/batch_exports/")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("Must consist of")
    page.get_by_label("Bucket", exact=True).fill("events")
    page.get_by_role("button", name="Save").click()
    console.expect_toast("Export created")
    row = page.get_by_role("row", name="Warehouse")
    expect(row).to_contain_text("s3://events")
    expect(row).to_contain_text("Active")

    row.get_by_role("button", name="Runs").click()
    expect(page.get_by_role("dialog", name="Runs of Warehouse")).to_contain_text("Nothing was")
    page.keyboard.press("Escape")
    menu = page.get_by_role("button", name="Actions of Warehouse")
    menu.click()
    page.get_by_role("menuitem", name="Edit export").click()
    expect(page.get_by_label("Secret access key")).to_have_value("")
    page.get_by_label("Prefix").fill("fanion")
    page.get_by_role("button", name="Save").click()
    console.expect_toast("Export saved")
    expect(row).to_contain_text("s3://events/fanion")
    menu.click()
    page.get_by_role("menuitem", name="Pause").click()
    expect(row).to_contain_text("Paused")
    menu.click()
    page.get_by_role("menuitem", name="Unpause").click()
    page.get_by_role("dialog").get_by_role("button", name="Unpause").click()
    expect(row).to_contain_text("Active")
    console.expect_accessible()
    console.expect_to_fit_in({"width": 390, "height": 844}, {"width": 360, "height": 640})
    menu.click()
    page.get_by_role("menuitem", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="No exports yet")).to_be_visible()


def test_an_import_is_a_command_for_this_project(console: Console, project: Project) -> None:
    page = console.page
    console.open(project.at("import"))

    page.get_by_label("File", exact=True).fill("my files/june.csv.gz")
    command = page.get_by_role("region", name="the command of the import")
    expect(command).to_contain_text("fanion import-events 'my files/june.csv.gz' --from csv")
    expect(command).to_contain_text("--map mapping.json")
    expect(command).to_contain_text(f"--project {project.id}")
    page.get_by_role("combobox", name="Files from").click()
    page.get_by_role("option", name="Umami").click()

    expect(command).to_contain_text("--from umami")
    expect(command).not_to_contain_text("--map")
    console.expect_accessible()
    console.expect_to_fit_in({"width": 390, "height": 844}, {"width": 360, "height": 640})
