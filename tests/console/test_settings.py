"""Settings: of the account, of the organization and of a project."""

import pyotp
import pytest
from playwright.sync_api import expect

from fanion.projects.model import Level
from tests.console.conftest import Visit
from tests.console.installation import Installation
from tests.console.project import Project, has
from tests.console.screen import Console, narrow

pytestmark = pytest.mark.long("drives Chromium")

PHONE = 390


def test_name_of_the_account_is_changed(visit: Visit, installation: Installation) -> None:
    console = visit(installation.member("Nora"))
    console.open("/account")
    name = console.page.get_by_label("First name")

    name.fill("Nora the First")
    console.page.get_by_role("button", name="Save").click()
    console.expect_toast("Saved")
    console.open("/account")

    expect(name).to_have_value("Nora the First")


def test_new_address_and_new_password_need_the_current_password(
    visit: Visit, installation: Installation
) -> None:
    account = installation.member("Pia")
    console = visit(account, anew=True)
    page = console.page
    console.open("/account")
    current = page.get_by_label("Current password")
    expect(current).to_have_count(0)

    page.get_by_label("E-mail address").fill(f"new-{account.email}")
    console.watch.expect_status(400, "/api/users/@me/")
    current.fill("a wrong password")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Your current password is incorrect.")).to_be_visible()
    console.expect_accessible()
    current.fill(account.password)
    page.get_by_role("button", name="Save").click()
    console.expect_toast("Saved")
    expect(current).to_have_count(0)

    console.open("/account?tab=password")
    current.fill(account.password)
    page.get_by_label("New password").fill("another long password")
    page.get_by_role("button", name="Set password").click()
    console.expect_toast("Password set")


def test_account_without_a_password_is_changed_with_a_code(
    visit: Visit, installation: Installation
) -> None:
    account = installation.member("Otto")
    console = visit(account, anew=True)
    page = console.page
    console.open("/account?tab=factor")
    page.get_by_role("button", name="Set up a second factor").click()
    secret = page.get_by_role("dialog").locator("code").inner_text()
    page.get_by_label("Code from the app").fill(pyotp.TOTP(secret).now())
    page.get_by_role("dialog").get_by_role("button", name="Confirm").click()
    codes = page.get_by_role("dialog", name="Recovery codes").locator("pre").inner_text().split()
    page.get_by_role("button", name="I have saved them").click()
    installation.forget_password(account)

    console.open("/account")
    page.get_by_label("E-mail address").fill(f"new-{account.email}")
    page.get_by_label("Code from the app").fill(codes[0])
    page.get_by_role("button", name="Save").click()

    console.expect_toast("Saved")


def test_key_is_made_shown_once_and_revoked(console: Console) -> None:
    page = console.page
    console.open("/account?tab=keys")
    page.get_by_role("button", name="New key").click()
    page.get_by_label("Name").fill("build server")
    console.choose(page.get_by_label("Access"), "Choose scopes…")
    console.choose(page.get_by_label("Feature flags"), "read")
    page.get_by_role("dialog").get_by_role("button", name="New key").click()

    shown = page.get_by_role("dialog", name="Your new key")
    expect(shown.get_by_text("phx_")).to_be_visible()
    shown.get_by_role("button", name="Done").click()
    row = page.get_by_role("row", name="build server")
    expect(row).to_contain_text("feature_flag:read")

    row.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(row).to_have_count(0)


def test_second_factor_is_set_up_with_an_app(visit: Visit, installation: Installation) -> None:
    console = visit(installation.member("Faye"), anew=True)
    page = console.page
    console.open("/account?tab=factor")
    page.get_by_role("button", name="Set up a second factor").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("img", name="QR code")).to_be_visible()
    console.expect_accessible()
    secret = dialog.locator("code").inner_text()

    console.watch.expect_status(400, "/two_factor_validate/")
    dialog.get_by_label("Code from the app").fill("000000")
    dialog.get_by_role("button", name="Confirm").click()
    expect(dialog.get_by_text("Invalid authentication code.")).to_be_visible()
    dialog.get_by_label("Code from the app").fill(pyotp.TOTP(secret).now())
    dialog.get_by_role("button", name="Confirm").click()

    codes = page.get_by_role("dialog", name="Recovery codes")
    expect(codes).to_be_visible()
    codes.get_by_role("button", name="I have saved them").click()
    expect(page.get_by_text("10 recovery codes left")).to_be_visible()


def test_other_sessions_are_signed_out(visit: Visit, installation: Installation) -> None:
    account = installation.member("Sven")
    elsewhere, here = visit(account, anew=True), visit(account, anew=True)
    elsewhere.open("/account")
    here.open("/account?tab=sessions")
    expect(here.page.get_by_text("this browser")).to_have_count(1)
    ended = here.page.get_by_role("button", name="Sign out", exact=True)
    expect(ended).not_to_have_count(0)
    with here.at_width(PHONE):
        expect(here.page.get_by_text("this browser")).to_be_in_viewport(ratio=1)

    here.page.get_by_role("button", name="Sign out everywhere else").click()

    expect(ended).to_have_count(0)
    elsewhere.watch.expect_status(401, "/api/users/@me/")
    elsewhere.page.goto(elsewhere.origin + "/account")
    expect(elsewhere.page.get_by_label("Password")).to_be_visible()


def test_colleague_is_invited_to_look_only_and_the_link_works(
    console: Console, visit: Visit
) -> None:
    page = console.page
    console.open("/organization")
    with console.clicks_at_most(3):
        page.get_by_role("button", name="Invite").click()
        page.get_by_label("E-mail address").fill("uma@example.com")
        console.press("Tab", "v", "Enter")
        expect(page.get_by_label("Level", exact=True)).to_have_text("Viewer")
        page.get_by_role("dialog").get_by_role("button", name="Invite").click()
        link = page.get_by_role("dialog", name="Invite link").locator("pre")
        expect(link).to_contain_text("/api/signup/")
    console.expect_accessible()

    guest = visit(None)
    guest.page.goto(link.inner_text())
    guest.page.get_by_label("First name").fill("Uma")
    guest.page.get_by_label("Password").fill("a long enough password")
    guest.page.get_by_role("button").click()
    guest.open("/organization")

    expect(guest.page.get_by_role("row", name="uma@example.com")).to_contain_text("Viewer")
    expect(guest.page.get_by_role("button", name="Invite")).to_be_disabled()
    guest.page.get_by_role("button", name="Leave").click()
    leave = guest.page.get_by_role("dialog", name="Leave this organization?")
    leave.get_by_role("button", name="Leave").click()
    guest.watch.expect_status(401, "/api/")
    expect(guest.page.get_by_role("heading", level=1, name="Fanion")).to_be_visible()
    guest.watch.expect_status(400, "/api/login/")
    guest.page.get_by_label("E-mail address").fill("uma@example.com")
    guest.page.get_by_label("Password").fill("a long enough password")
    guest.press("Enter")
    expect(guest.page.get_by_role("alert")).to_be_visible()


def test_several_are_invited_at_once_and_each_wrong_address_is_named(
    console: Console, installation: Installation
) -> None:
    page, known = console.page, installation.viewer.email
    console.open("/organization?tab=invites")
    page.get_by_role("button", name="Invite").first.click()
    dialog = page.get_by_role("dialog", name="Invite colleagues")
    addresses = dialog.get_by_label("E-mail addresses")
    addresses.fill(f"Kit <kit@example.com>, lou@example.com\nlou@example.com; nobody, {known}")
    dialog.get_by_role("button", name="Invite 5 people").click()
    for problem in (
        "lou@example.com: Entered twice.",
        "nobody: Not an e-mail address.",
        f"{known}: Already a member.",
    ):
        expect(dialog.get_by_role("alert")).to_contain_text(problem)
    expect(addresses).to_have_attribute("aria-invalid", "true")
    console.expect_accessible()

    console.watch.expect_status(400, "/invites/bulk/")
    joined = installation.member("Max").email  # meanwhile
    addresses.fill(f"kit@example.com, {joined}")
    dialog.get_by_role("button", name="Invite 2 people").click()
    expect(dialog.get_by_role("alert")).to_contain_text(f"{joined}: A user with this e-mail")
    expect(page.get_by_role("row", name="kit@example.com")).to_have_count(0)
    addresses.fill("kit@example.com, lou@example.com")
    dialog.get_by_role("button", name="Invite 2 people").click()

    links = page.get_by_role("dialog", name="Invite links")
    for name in ("kit", "lou"):
        line = links.get_by_role("listitem").filter(has_text=f"{name}@example.com")
        expect(line).to_contain_text("/api/signup/")
    console.expect_accessible()
    links.get_by_role("button", name="Done").click()
    expect(page.get_by_role("row", name="kit@example.com")).to_be_visible()
    expect(page.get_by_role("row", name="lou@example.com")).to_be_visible()


def test_level_of_a_member_is_changed_and_the_member_removed(
    console: Console, installation: Installation
) -> None:
    account = installation.member("Mona", Level.MEMBER)
    console.open("/organization")
    row = console.page.get_by_role("row", name=account.email)

    console.choose(row.get_by_label("Level of Mona"), "Administrator")
    console.expect_toast("Mona is now an administrator")
    row.get_by_role("button", name="Remove").click()
    console.page.get_by_role("dialog").get_by_role("button", name="Remove").click()

    expect(row).to_have_count(0)


def test_role_is_made_filled_and_deleted(console: Console) -> None:
    page = console.page
    console.open("/organization?tab=roles")
    page.get_by_role("button", name="New role").click()
    page.get_by_label("Name").fill("Night shift")
    page.get_by_role("dialog").get_by_role("button", name="New role").click()
    role = page.get_by_role("listitem").filter(has_text="Night shift")

    role.get_by_label("Add a member to Night shift").click()
    page.get_by_role("option").nth(1).click()
    expect(role.get_by_role("button", name="Remove")).to_have_count(1)
    console.choose(role.get_by_label("Feature flags"), "can view")
    console.expect_accessible()
    role.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()

    expect(role).to_have_count(0)


def test_project_key_is_replaced_and_the_former_one_named(
    console: Console, project: Project
) -> None:
    page = console.page
    console.open(project.at("settings?tab=keys"))
    former = page.get_by_text("phc_").inner_text()

    page.get_by_role("button", name="Replace", exact=True).click()
    dialog = page.get_by_role("dialog")
    console.choose(dialog.get_by_label("Keep the current key valid for"), "an hour")
    console.expect_accessible()
    dialog.get_by_role("button", name="Replace").click()

    expect(page.get_by_text("Previous keys")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text=former)).to_contain_text("valid until")


def test_ingestion_rules_are_saved_and_a_wrong_one_is_named(
    console: Console, project: Project
) -> None:
    page = console.page
    console.open(project.at("settings?tab=ingestion"))

    page.get_by_label("Do not store client addresses").check()
    page.get_by_label("Remove these properties").fill("$ip\npassword")
    page.get_by_label("Burst in seconds").fill("0")
    console.watch.expect_status(400, "/api/projects/")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert").first).to_contain_text("greater than or equal to 1")
    page.get_by_label("Burst in seconds").fill("5")
    page.get_by_role("button", name="Save").click()
    console.expect_toast("Rules saved")

    rules = project.get("/")["ingestion"]
    assert rules["anonymize_ips"] is True
    assert rules["removed_properties"] == ["$ip", "password"]


def test_conditions_on_test_accounts_are_saved_and_a_wrong_one_is_named(
    console: Console, project: Project
) -> None:
    page = console.page
    project.persons(ann={"email": "ann@corp.example"})
    staff = project.cohort("Staff", has("email", "x"))
    console.open(project.at("settings?tab=testAccounts"))
    expect(page.get_by_text("every event counts")).to_be_visible()

    page.get_by_role("button", name="Add condition").click()
    page.get_by_role("combobox", name="Property", exact=True).fill("email")
    page.get_by_role("option", name="email").first.click()
    console.choose(page.get_by_role("combobox", name="Comparison"), "does not contain")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Enter a value.")).to_be_visible()
    page.get_by_role("textbox", name="Value").fill("@corp.example")
    page.get_by_role("button", name="Save").click()
    console.expect_toast("Conditions saved")

    page.get_by_role("button", name="Add condition").click()
    console.choose(page.get_by_role("combobox", name="Kind of condition").last, "Cohort")
    console.choose(page.get_by_role("combobox", name="Comparison").last, "is not in")
    page.get_by_role("combobox", name="Cohort", exact=True).fill("Staff")
    page.get_by_role("option", name="Staff").click()
    project.patch(f"/cohorts/{staff['id']}/", deleted=True)
    console.watch.expect_status(400, "/api/projects/")
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_text("Condition 2 could not be saved:")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text(f"id {staff['id']} does not exist")
    console.expect_accessible()
    [stored] = project.get("/")["test_account_filters"]
    assert (stored["type"], stored["operator"]) == ("person", "not_icontains")
    assert (stored["key"], stored["value"]) == ("email", "@corp.example")


def test_webhook_is_made_switched_off_and_deleted(console: Console, project: Project) -> None:
    page = console.page
    console.open(project.at("settings?tab=webhooks"))
    page.get_by_role("button", name="New webhook").click()
    console.watch.expect_status(400, "/webhooks/")
    page.get_by_label("URL").fill("http://10.0.0.1/hook")
    page.get_by_role("button", name="Save").click()
    refused = page.get_by_role("dialog").get_by_role("alert")
    expect(refused).to_be_visible()
    page.get_by_label("URL").fill("https://hooks.example.com/fanion")
    page.get_by_label("feature_flag.updated").check()
    console.expect_accessible()
    page.get_by_role("button", name="Save").click()
    page.get_by_role("dialog", name="Webhook secret").get_by_role("button", name="Done").click()
    row = page.get_by_role("row", name="hooks.example.com")

    row.get_by_role("switch").click()
    expect(row.get_by_role("switch")).not_to_be_checked()
    row.get_by_role("button", name="Deliveries").click()
    expect(page.get_by_text("No deliveries yet")).to_be_visible()
    page.get_by_role("button", name="Close").click()
    row.get_by_role("button", name="Webhook actions").click()
    page.get_by_role("menuitem", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()

    expect(row).to_have_count(0)


def test_the_selected_of_many_tabs_is_in_sight_in_a_narrow_window(
    console: Console, project: Project
) -> None:
    console.page.set_viewport_size(narrow(PHONE))
    console.open(project.at("settings?tab=webhooks"))
    page = console.page

    expect(page.get_by_role("tab", name="Webhooks")).to_be_in_viewport(ratio=0.9)
    page.get_by_role("tab", name="Webhooks").press("Home")
    expect(page.get_by_role("tab", name="General")).to_be_in_viewport(ratio=0.9)
    assert page.evaluate("() => scrollY") == 0


def test_new_project_opens_and_is_in_the_switch(console: Console, project: Project) -> None:
    page = console.page
    console.open(project.at("flags"))
    page.get_by_role("button", name="Project: ").click()
    page.get_by_role("menuitem", name="New project").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("Second shop")
    zone = page.evaluate("() => Intl.DateTimeFormat().resolvedOptions().timeZone")
    expect(dialog.get_by_text(zone).first).to_be_attached()
    console.expect_accessible()
    dialog.get_by_role("button", name="Create project").click()

    expect(page.get_by_role("button", name="Project: Second shop")).to_be_visible()


def test_project_is_deleted_with_its_name_typed_and_its_contents_told(
    console: Console, installation: Installation
) -> None:
    doomed = installation.project("Doomed shop")
    doomed.events("paid", "ann", "bob")
    doomed.flag("dark-mode")
    page = console.page
    console.open(doomed.at("settings"))

    page.get_by_role("button", name="Project actions").click()
    page.get_by_role("menuitem", name="Delete project").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("list", name="What is deleted")).to_contain_text("2 events")
    submit = dialog.get_by_role("button", name="Delete project")
    expect(submit).to_be_disabled()
    console.expect_accessible()
    dialog.get_by_role("textbox").fill("Doomed shop")
    submit.click()

    console.expect_toast("Deleted Doomed shop")
    entry = page.get_by_role("list", name="Activity").get_by_role("listitem").first
    expect(entry).to_contain_text("deleted the project, with 2 events, 2 persons, 1 flag")
    expect(entry).to_contain_text("Doomed shop")
    page.get_by_role("button", name="Project: ").click()
    expect(page.get_by_role("menuitemradio", name="Doomed shop")).to_have_count(0)


def test_first_day_of_the_week_and_rules_for_paths_are_saved(
    console: Console, project: Project
) -> None:
    page = console.page
    console.open(project.at("settings"))
    console.choose(page.get_by_label("First day of the week"), "Monday")
    page.get_by_role("button", name="Save").click()
    console.expect_toast("Saved")

    page.get_by_role("tab", name="Page paths").click()
    page.get_by_role("button", name="Add rule").click()
    page.get_by_label("Pattern 1").fill("/users/[0-9]+")
    page.get_by_label("Replacement 1").fill("/users/<id>")
    expect(page.get_by_role("status", name="It becomes")).to_have_text("/users/<id>/orders/7")
    page.get_by_role("button", name="Add rule").click()
    page.get_by_label("Pattern 2").fill("[")
    expect(page.get_by_text("Only the server can apply rule 2")).to_be_visible()
    console.expect_accessible()
    console.watch.expect_status(400, "/api/projects/")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Rule 2 could not be saved:")).to_be_visible()
    page.get_by_role("button", name="Remove rule 2").click()
    page.get_by_role("button", name="Save").click()
    console.expect_toast("Rules saved")

    stored = project.get("/")
    assert stored["week_start_day"] == 1
    [rule] = stored["path_cleaning_filters"]
    assert (rule["regex"], rule["alias"]) == ("/users/[0-9]+", "/users/<id>")


def test_the_time_that_events_are_kept_is_shortened_after_a_preview(
    console: Console, project: Project
) -> None:
    page = console.page
    bought = {"event": "bought", "distinct_id": "ann"}
    project.capture({**bought, "timestamp": "2001-05-06T00:00:00Z"}, bought, bought)
    console.open(project.at("settings?tab=general"))
    console.choose(page.get_by_label("Keep events for"), "365 days")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("and from then on each month: 1 of 3 now.")
    console.expect_accessible()
    dialog.get_by_role("button", name="Delete older events").click()
    expect(dialog).to_have_count(0)
    assert project.get("/")["events_kept_days"] == 365

    console.choose(page.get_by_label("Keep events for"), "730 days")
    expect(page.get_by_label("Keep events for")).to_have_text("730 days")
    assert project.get("/")["events_kept_days"] == 730


def test_name_of_the_organization_and_the_time_that_activity_is_kept_are_saved(
    console: Console, project: Project
) -> None:
    page = console.page
    console.open("/organization?tab=general")
    name = page.get_by_label("Organization name")
    former = name.input_value()
    name.fill("Shop Inc.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Shop Inc.")

    console.choose(page.get_by_label("Keep activity for"), "365 days")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("older than 365 days is deleted within an hour")
    console.expect_accessible()
    dialog.get_by_role("button", name="Delete older activity").click()
    expect(dialog).to_have_count(0)
    console.open(project.at("activity"))
    expect(page.get_by_text("It is kept for 365 days.")).to_be_visible()

    console.open("/organization?tab=general")
    console.choose(page.get_by_label("Keep activity for"), "forever")
    name.fill(former)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(former)


def test_secret_key_is_shown_replaced_and_revoked_only_after_a_question(
    console: Console, project: Project
) -> None:
    page = console.page
    console.open(project.at("settings?tab=keys"))
    expect(page.get_by_text("This project has no secret key.")).to_be_visible()

    page.get_by_role("button", name="Create secret key").click()
    dialog = page.get_by_role("dialog")
    key = dialog.get_by_text("phs_").inner_text()
    dialog.get_by_role("button", name="Done").click()
    expect(page.get_by_text(f"phs_...{key[-4:]}")).to_be_visible()

    page.get_by_role("button", name="Replace").last.click()
    dialog.get_by_role("button", name="Replace").click()
    expect(dialog.get_by_text("phs_")).to_be_visible()
    assert dialog.get_by_text("phs_").inner_text() != key
    dialog.get_by_role("button", name="Done").click()

    page.get_by_role("button", name="Secret key actions").click()
    page.get_by_role("menuitem", name="Revoke secret key").click()
    console.expect_accessible()
    assert project.get("/secret_key/")["mask_value"] is not None
    dialog.get_by_role("button", name="Revoke").click()

    console.expect_toast("Secret key revoked")
    assert project.get("/secret_key/")["mask_value"] is None
    expect(page.get_by_text("This project has no secret key.")).to_be_visible()


def test_key_for_local_evaluation_reads_flags_only(console: Console) -> None:
    page = console.page
    console.open("/account?tab=keys")
    page.get_by_role("button", name="New key").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("shop server")
    expect(dialog.get_by_label("Access")).to_contain_text("Local evaluation of flags")
    console.expect_accessible()

    dialog.get_by_role("button", name="New key").click()
    page.get_by_role("dialog", name="Your new key").get_by_role("button", name="Done").click()

    row = page.get_by_role("row").filter(has_text="shop server")
    expect(row).to_contain_text("feature_flag:read")
