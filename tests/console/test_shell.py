"""The frame of every screen: sign-in, navigation, projects, the command menu, themes, keys."""

import pytest
from playwright.sync_api import Route, expect

from tests.console.conftest import Visit
from tests.console.installation import Installation
from tests.console.project import Project
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")


def test_stranger_signs_in_and_comes_to_where_the_link_led(
    visit: Visit, installation: Installation, project: Project
) -> None:
    console = visit(None)
    page = console.page
    console.watch.expect_status(401, "/api/users/@me/")
    console.open(project.at("cohorts"))
    console.expect_accessible()

    page.get_by_label("E-mail address").fill(installation.owner.email)
    page.get_by_label("Password").fill("wrong")
    console.watch.expect_status(400, "/api/login/")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("Password").fill(installation.owner.password)
    page.get_by_label("Password").press("Enter")

    expect(page.get_by_role("heading", name="Cohorts", level=1)).to_be_visible()
    assert page.url == console.origin + project.at("cohorts")


def test_link_in_the_address_of_the_sign_in_leads_to_this_server_alone(
    visit: Visit, installation: Installation
) -> None:
    console = visit(None)
    console.watch.expect_status(401, "/api/users/@me/")
    console.open("/login?next=%2F%2Fevil.example%2F")

    console.page.get_by_label("E-mail address").fill(installation.owner.email)
    console.page.get_by_label("Password").fill(installation.owner.password)
    console.page.get_by_role("button", name="Sign in").click()

    expect(console.page.get_by_role("navigation")).to_be_visible()
    assert console.page.url.startswith(console.origin + "/project/")


def test_the_frame_is_shown_before_any_script_has_run(console: Console, project: Project) -> None:
    frame = console.page.locator("#frame")
    held: list[Route] = []
    console.page.route("**/console/assets/*.js", lambda route: held.append(route))
    console.page.goto(console.origin + project.at("cohorts"), wait_until="commit")
    expect(frame.get_by_text("Fanion")).to_be_visible()
    place = frame.get_by_text("Fanion").bounding_box()

    console.page.unroute_all()  # lets those that are held go on
    console.settle()
    assert held
    expect(frame).to_be_hidden()
    brand = console.page.get_by_role("link", name="Fanion").bounding_box()
    assert place is not None and brand is not None
    # The name is where the navigation has it.
    assert (place["y"], place["height"]) == (brand["y"], brand["height"])
    assert place["x"] == brand["x"]
    assert console.watch.count(lambda sent: sent.url.endswith("/@me/")) == 1


def test_sign_out_ends_the_session(visit: Visit, installation: Installation) -> None:
    console = visit(installation.member("Otto"), anew=True)
    console.open("/account")

    console.page.get_by_role("button", name="Account").click()
    console.page.get_by_role("menuitem", name="Sign out").click()
    expect(console.page.get_by_label("Password")).to_be_visible()
    console.watch.expect_status(401, "/api/users/@me/")
    console.open("/account")

    expect(console.page.get_by_label("Password")).to_be_visible()


def test_screens_are_reached_by_keys_alone(console: Console, project: Project) -> None:
    page = console.page
    console.open(project.at())
    with console.keyboard_only():
        console.press("g", "f")
        expect(page.get_by_role("heading", name="Feature flags", level=1)).to_be_visible()
        console.press("g", "c")
        expect(page.get_by_role("heading", name="Cohorts", level=1)).to_be_visible()
        console.press("?")
        expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
        console.press("Escape", "Control+k")
        page.get_by_role("combobox").press_sequentially("webhooks")
        expect(page.get_by_role("option", name="Webhooks", selected=True)).to_be_visible()
        console.expect_accessible()
        console.press("Enter")
        expect(page.get_by_role("tab", name="Webhooks")).to_be_visible()
    console.press("Control+k")
    page.get_by_role("combobox").fill("g f")
    assert page.url.endswith("tab=webhooks")


def test_projects_beyond_the_first_page_of_the_list_are_shown(
    console: Console, installation: Installation, project: Project
) -> None:
    last, asked = installation.project("Last shop"), list[str]()

    def ask_for_one(route: Route) -> None:
        asked.append(route.request.url)
        route.continue_(url=route.request.url.replace("limit=1000", "limit=1"))

    console.page.route("**/api/projects/?limit=1000", ask_for_one)
    console.open(last.at("settings"))

    expect(console.page.get_by_role("button", name="Project: Last shop")).to_be_visible()
    expect(console.page.get_by_label("Name", exact=True)).to_have_value("Last shop")
    assert len(asked) == 1


def test_another_project_is_chosen_and_opened_again_at_the_next_visit(
    console: Console, installation: Installation, project: Project
) -> None:
    other = installation.project("Other shop")
    console.open(project.at())

    console.page.get_by_role("button", name="Project:").click()
    console.page.get_by_role("menuitemradio", name="Other shop").click()
    expect(console.page.get_by_role("button", name="Project: Other shop")).to_be_visible()
    console.open("/")

    assert console.page.url == console.origin + other.at().rstrip("/")


def test_theme_is_kept(console: Console) -> None:
    page = console.page
    console.open("/account")
    page.get_by_role("button", name="Account").click()
    console.expect_accessible()
    page.get_by_role("menuitemradio", name="Dark").click()
    console.open("/account")

    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_ended_session_is_replaced_over_the_screen(
    visit: Visit, installation: Installation
) -> None:
    account = installation.member("Enid")
    console, elsewhere = visit(account, anew=True), visit(account, anew=True)
    page = console.page
    console.open("/account")
    page.get_by_label("First name").fill("Enid the Second")
    elsewhere.open("/account?tab=sessions")
    elsewhere.page.get_by_role("button", name="Sign out everywhere else").click()
    elsewhere.expect_toast("Signed out")

    console.watch.expect_status(401, "/api/")
    page.get_by_role("button", name="Save").click()
    dialog = page.get_by_role("dialog", name="Your session has ended")
    expect(dialog).to_be_visible()
    console.expect_accessible()
    dialog.get_by_label("Password").fill(account.password)
    dialog.get_by_role("button", name="Sign in").click()

    console.expect_toast("Saved")
    expect(page.get_by_label("First name")).to_have_value("Enid the Second")


def test_narrow_screen_has_the_navigation_in_a_drawer(console: Console, project: Project) -> None:
    page = console.page
    console.open(project.at("cohorts"))
    with console.at_width(360):
        page.get_by_role("button", name="Open navigation").click()
        console.expect_accessible()
        page.get_by_role("link", name="Groups").click()
        expect(page.get_by_role("heading", name="Groups", level=1)).to_be_visible()
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_unknown_address_says_so(console: Console, project: Project) -> None:
    console.open(project.at("nowhere"))

    expect(console.page.get_by_text("Page not found").first).to_be_visible()
    console.watch.expect_status(404, "/feature_flags/987654/")
    console.open(project.at("flags/987654"))
    expect(console.page.get_by_text("There is no such flag in this project.")).to_be_visible()
    expect(console.page.get_by_text("Not found.", exact=True)).to_have_count(0)


def test_unknown_project_offers_those_of_the_user(console: Console, project: Project) -> None:
    page = console.page
    console.watch.expect_status(404, "/api/projects/987654/")
    console.open("/project/987654/flags")

    expect(page.get_by_role("heading", name="Project not found").last).to_be_visible()
    expect(page.get_by_role("link", name="Feature flags")).to_have_count(0)
    console.expect_accessible()
    page.locator(f"a[href$='/project/{project.id}']").click()

    expect(page.get_by_role("link", name="Feature flags")).to_be_visible()
    assert page.url == console.origin + project.at().rstrip("/")


def test_the_heading_of_each_screen_gets_the_focus(console: Console, project: Project) -> None:
    page = console.page
    console.open(project.at("flags"))

    with console.keyboard_only():
        console.press("g", "p")
        expect(page.get_by_role("heading", level=1, name="Persons")).to_be_focused()
        console.press("Tab")
        expect(page.get_by_role("heading", level=1)).not_to_be_focused()


def test_the_command_menu_gives_the_focus_back(console: Console, project: Project) -> None:
    project.flag("beta")
    page = console.page
    console.open(project.at("flags"))
    console.press("/")
    field = page.locator("main [data-filter]")
    expect(field).to_be_focused()

    console.press("Control+k")
    expect(page.get_by_role("combobox", name="Command menu")).to_be_focused()
    console.press("Escape")

    expect(field).to_be_focused()


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("dark mode", "dark-mode"),
        ("turn off dark", "Switch off dark-mode"),
        ("log out", "Sign out"),
        ("theme dark", "Theme: Dark"),
        ("new project", "New project"),
    ],
)
def test_the_command_menu_understands_what_people_type(
    console: Console, project: Project, typed: str, offered: str
) -> None:
    project.flag("dark-mode")
    console.open(project.at())

    console.press("Control+k")
    expect(console.page.get_by_role("combobox", name="Command menu")).to_be_focused()
    console.page.keyboard.type(typed)

    expect(console.page.get_by_role("option").filter(has_text=offered).first).to_be_visible()


def test_what_the_command_menu_found_can_be_chosen_while_it_looks_for_more(
    console: Console, project: Project
) -> None:
    flag = project.flag("burning")
    page = console.page
    held: list[Route] = []
    console.open(project.at())
    console.press("Control+k")
    page.get_by_role("combobox", name="Command menu").wait_for()
    page.keyboard.type("switch off bu")
    option = page.get_by_role("option", name="Switch off burning")
    expect(option).to_have_attribute("aria-selected", "true")

    page.route("**/feature_flags/?search=*", lambda route: held.append(route))
    with page.expect_request("**/feature_flags/?search=burn*"):
        page.keyboard.type("rn")
    expect(page.get_by_role("listbox")).to_have_attribute("aria-busy", "true")
    expect(option).to_have_attribute("aria-selected", "true")
    console.press("Enter")

    console.expect_toast("Switched off burning")
    assert project.get(f"/feature_flags/{flag['id']}/")["active"] is False


def test_the_best_match_is_marked_although_it_comes_last(
    console: Console, project: Project
) -> None:
    project.flag("goproj")
    page = console.page
    held: list[Route] = []
    console.open(project.at())
    page.route("**/feature_flags/?search=*", lambda route: held.append(route))
    console.press("Control+k")
    page.get_by_role("combobox", name="Command menu").wait_for()

    with page.expect_request("**/feature_flags/?search=goproj*"):
        page.keyboard.insert_text("goproj")
    expect(page.get_by_role("option").first).to_have_attribute("aria-selected", "true")
    [route] = held
    route.continue_()

    best = page.get_by_role("option").first
    expect(best).to_contain_text("goproj")
    expect(best).to_have_attribute("aria-selected", "true")
