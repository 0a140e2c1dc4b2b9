"""A dashboard as the home of a project in the console."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.console.installation import Installation
from tests.console.project import Project
from tests.console.screen import Console
from tests.console.test_dashboards import dashboard_of, last_number, path_of, tile

pytestmark = pytest.mark.long("drives Chromium")


def test_a_dashboard_becomes_the_home_and_home_falls_back_once_it_is_deleted(
    console: Console, project: Project
) -> None:
    project.events("paid", "ann", "bob")
    dashboard = dashboard_of(project, "paid")
    texts = [{"text": {"body": "# Welcome"}}]
    project.patch(f"dashboards/{dashboard['id']}", tiles=texts)
    page = console.page
    console.open(path_of(project, dashboard))
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Use as home").click()
    console.expect_toast("Weekly is the home of this project now")

    console.press("g", "h")
    expect(page.get_by_role("heading", level=1)).to_have_text("Home")
    expect(page.get_by_role("heading", name="Problems")).to_be_visible()
    expect(last_number(console, "paid")).to_have_attribute("aria-valuetext", re.compile("paid 2$"))
    expect(tile(console, "Welcome").get_by_role("heading")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^Move or resize"))).to_have_count(0)
    console.settle()
    console.expect_accessible()
    console.expect_to_fit_in({"width": 390, "height": 844}, {"width": 360, "height": 640})
    with console.at_zoom(200):
        console.expect_to_fit()
    last_number(console, "paid").press("Enter")
    expect(page.get_by_role("dialog").get_by_role("row")).to_have_count(3)
    console.press("Escape")

    page.get_by_role("link", name="Weekly").click()
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Dashboards")
    console.watch.expect_status(404, f"/dashboards/{dashboard['id']}/")
    console.press("g", "h")
    expect(page.get_by_role("heading", name="Problems")).to_be_visible()
    expect(page.get_by_role("heading", name="Recent activity")).to_be_visible()
    project.patch(f"dashboards/{dashboard['id']}", deleted=False)
    page.reload()
    expect(last_number(console, "paid")).to_be_visible()


def test_the_home_is_chosen_in_the_settings_by_keys(console: Console, project: Project) -> None:
    project.events("paid", "ann")
    dashboard = dashboard_of(project, "paid")
    page = console.page
    console.open(project.at("settings"))

    with console.keyboard_only():
        console.tab_to(page.get_by_role("combobox", name="Home page"))
        console.press("Enter", "ArrowDown", "Enter")
    console.expect_toast("Home page saved")
    assert project.get("")["primary_dashboard"] == dashboard["id"]
    console.settle()
    console.expect_accessible()


def test_a_viewer_sees_the_home_and_cannot_choose_it(
    installation: Installation, project: Project, visit: Callable[..., Console]
) -> None:
    project.events("paid", "ann")
    dashboard = dashboard_of(project, "paid")
    project.patch("", primary_dashboard=dashboard["id"])
    viewer = visit(installation.viewer)

    viewer.open(project.at())
    expect(last_number(viewer, "paid")).to_be_visible()
    viewer.open(path_of(project, dashboard))
    viewer.page.get_by_role("button", name="More actions").click()
    expect(viewer.page.get_by_role("menuitem", name="Do not use as home")).to_be_disabled()
    viewer.press("Escape")
    viewer.open(project.at("settings"))
    expect(viewer.page.get_by_role("combobox", name="Home page")).to_be_disabled()
