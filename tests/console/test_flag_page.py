"""The page of a flag: its rules are changed, counted, tried and saved, by pointer and by keys."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect

from tests.console.conftest import Visit
from tests.console.installation import Installation
from tests.console.project import Json, Project, has, when
from tests.console.screen import Console, narrow
from tests.support.awaited import until

pytestmark = pytest.mark.long("drives Chromium")

Open = Callable[[Json], None]


@pytest.fixture(scope="module")
def people(module_project: Project) -> Project:
    """Create thirty people, twenty of them with the plan `pro`."""
    plans = {f"u{n}": {"plan": "pro" if n % 3 else "free"} for n in range(30)}
    plans["u1"]["email"] = "ann@corp.example"
    module_project.persons(**plans)
    return module_project


@pytest.fixture
def open_flag(console: Console, people: Project) -> Open:
    return lambda flag: console.open(people.at(f"flags/{flag['id']}"))


def saved(project: Project, flag: Json) -> Json:
    stored: Json = project.get(f"/feature_flags/{flag['id']}/")
    return stored


def condition(console: Console, number: int) -> Locator:
    return console.page.get_by_role("listitem", name=f"Condition {number}", exact=True)


def save(console: Console) -> None:
    console.page.get_by_role("button", name="Review and save").click()
    console.page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(console.page.get_by_role("dialog")).to_have_count(0)


def test_a_share_is_raised_and_says_first_who_changes(
    console: Console, people: Project, open_flag: Open
) -> None:
    noted = {"description": "kept", "sort_key": "k1"}
    flag = people.flag("raised", when(has("plan", "pro"), rollout=0, **noted), when(rollout=0))
    open_flag(flag)
    bar = console.page.get_by_role("region", name="Unsaved changes")

    with console.clicks_at_most(1):
        console.page.get_by_label("Rollout of condition 1", exact=True).click()
        console.page.keyboard.type("100")
        expect(bar).to_contain_text("20 people go from false to true, 0 the other way")
        expect(condition(console, 1)).to_contain_text("matches 20 of 30 people")
    expect(condition(console, 2)).to_contain_text("20 already covered above")
    console.press("Control+s")
    dialog = console.page.get_by_role("dialog")
    expect(dialog).to_contain_text("0% of people whose plan is pro")
    expect(dialog).to_contain_text("Evaluated for 30 people.")
    console.settle()
    console.expect_accessible()
    dialog.get_by_role("button", name="Save").click()

    expect(console.page.get_by_text("Version 2")).to_be_visible()
    expect(bar).to_have_count(0)
    expect(console.page.get_by_text("People whose plan is pro").first).to_be_visible()
    first, second = saved(people, flag)["filters"]["groups"]
    assert first == {**flag["filters"]["groups"][0], "rollout_percentage": 100}
    assert second == flag["filters"]["groups"][1]


def test_conditions_are_moved_copied_and_removed_by_keys(
    console: Console, people: Project, open_flag: Open
) -> None:
    flag = people.flag("moved", when(has("plan", "pro"), rollout=50), when(rollout=100))
    open_flag(flag)
    page = console.page

    with console.keyboard_only():
        console.tab_to(page.get_by_label("Rollout of condition 2", exact=True))
        console.press("Alt+ArrowUp")
        expect(condition(console, 2)).to_contain_text("Never reached")
        expect(page.get_by_label("Rollout of condition 1", exact=True)).to_be_focused()
        console.tab_to(page.get_by_role("button", name="Duplicate condition 2"))
        console.press("Enter")
        console.tab_to(page.get_by_role("button", name="Remove condition 1"))
        console.press("Enter")
        expect(condition(console, 3)).to_have_count(0)
        console.settle()
        console.press("Control+s")
        console.tab_to(page.get_by_role("dialog").get_by_role("button", name="Save"))
        console.press("Enter")
        expect(page.get_by_text("Version 2")).to_be_visible()

    pro = flag["filters"]["groups"][0]
    assert saved(people, flag)["filters"]["groups"] == [pro, pro]


def test_a_condition_is_dragged_to_another_place(
    console: Console, people: Project, open_flag: Open
) -> None:
    flag = people.flag("dragged", when(rollout=1), when(rollout=2), when(rollout=3))
    open_flag(flag)
    handle = console.page.get_by_role("button", name="Move condition 1:")
    target = condition(console, 3).bounding_box()
    assert target is not None

    handle.hover()
    console.page.mouse.down()
    for part in (0.3, 0.5):
        console.page.mouse.move(target["x"] + 30, target["y"] + target["height"] * part, steps=4)
    console.page.mouse.up()
    console.settle()
    save(console)

    groups = saved(people, flag)["filters"]["groups"]
    assert [group["rollout_percentage"] for group in groups] == [2, 3, 1]


def test_why_someone_gets_false_and_would_not_any_more(
    console: Console, people: Project, open_flag: Open
) -> None:
    open_flag(people.flag("tried", when(has("plan", "team"))))
    page = console.page

    console.press("t")
    page.keyboard.type("ann@corp.example")
    answer = page.get_by_role("region", name="Saved", exact=True)
    expect(answer).to_contain_text("No condition matches.")
    expect(answer).to_contain_text("whose plan is team: is pro (stored)")
    condition(console, 1).get_by_role("button", name="Remove team").click()
    condition(console, 1).get_by_role("combobox", name="Values").fill("pro")
    console.press("Enter")

    expect(page.get_by_role("region", name="Unsaved", exact=True)).to_contain_text("true")
    expect(page.get_by_text("The unsaved flag gives a different answer.")).to_be_visible()
    page.get_by_role("button", name="Override a property").click()
    page.get_by_role("textbox", name="Property", exact=True).fill("plan")
    page.get_by_role("textbox", name="Value", exact=True).fill("team")
    expect(answer).to_contain_text("is team (overridden)")
    expect(answer).to_contain_text("Condition 1 includes them.")
    console.settle()
    console.expect_accessible()
    page.reload()
    expect(answer).to_contain_text("is pro (stored)")


def test_variants_sum_to_100_and_carry_payloads(
    console: Console, people: Project, open_flag: Open
) -> None:
    payloads = {"true": '{"old": 1}'}
    flag = people.flag("split", when(rollout=100), filters={"payloads": payloads})
    open_flag(flag)
    page = console.page
    review = page.get_by_role("button", name="Review and save")

    page.get_by_role("radio", name="one of several variants").check()
    page.get_by_role("button", name="Add variant").click()
    page.get_by_label("Share of variant 3").fill("30")
    expect(page.get_by_text("The shares add up to 130%").first).to_be_visible()
    expect(review).to_be_disabled()
    page.get_by_role("button", name="Split evenly").click()
    expect(page.get_by_label("Share of variant 1")).to_have_value("34")
    page.get_by_label("Key of variant 2").fill("control")
    expect(page.get_by_text("Another variant has this key.")).to_be_visible()
    page.get_by_label("Key of variant 2").fill("blue")
    page.get_by_role("button", name="Add payload: blue").click()
    payload = page.get_by_role("textbox", name="Payload of blue")
    payload.fill('{"color": ')
    expect(review).to_be_disabled()
    payload.fill('{"color": "#00f"}')
    console.choose(page.get_by_label("Variant of condition 1"), "always blue")
    console.settle()
    console.expect_accessible()
    with console.at_width(360):
        pass
    save(console)

    filters = saved(people, flag)["filters"]
    variants = [(v["key"], v["rollout_percentage"]) for v in filters["multivariate"]["variants"]]
    assert variants == [("control", 34), ("blue", 33), ("variant-3", 33)]
    assert filters["payloads"] == {"blue": '{"color": "#00f"}'}
    assert filters["groups"][0]["variant"] == "blue"


def test_the_head_is_changed_at_once_and_taken_back(
    console: Console, people: Project, open_flag: Open
) -> None:
    flag = people.flag("headed", when(has("plan", "pro")), name="Former", tags=["old"])
    open_flag(flag)
    page = console.page
    switch = page.get_by_role("switch", name="headed")

    expect(page.get_by_text("for 20 people")).to_be_visible()
    switch.click()
    expect(page.get_by_role("status").filter(has_text="Switched off headed").first).to_be_visible()
    expect(page.get_by_text("Version 2")).to_be_visible()
    page.get_by_role("button", name="Undo").first.click()
    expect(switch).to_be_checked()
    expect(page.get_by_text("Version 3")).to_be_visible()
    page.get_by_role("button", name="Edit description").click()
    page.get_by_role("textbox", name="Description").fill("Later")
    console.press("Enter")
    page.get_by_role("button", name="Add tag").click()
    page.get_by_role("textbox", name="Tag", exact=True).fill("new")
    console.press("Enter")

    expect(page.get_by_text("Version 5")).to_be_visible()
    now = saved(people, flag)
    assert (now["active"], now["name"], sorted(now["tags"])) == (True, "Later", ["new", "old"])


def test_a_flag_is_deleted_and_restored(console: Console, people: Project, open_flag: Open) -> None:
    flag = people.flag("deleted")
    open_flag(flag)

    console.page.get_by_role("button", name="More actions").click()
    console.page.get_by_role("menuitem", name="Delete flag").click()
    expect(console.page).to_have_url(f"{console.origin}{people.at('flags')}")
    expect(console.page.get_by_text("Deleted deleted").first).to_be_visible()
    assert saved(people, flag)["deleted"]
    open_flag(flag)
    console.page.get_by_role("button", name="Restore").click()

    expect(console.page.get_by_text("Restored deleted").first).to_be_visible()
    expect(console.page.get_by_text("This flag is deleted")).to_have_count(0)
    assert not saved(people, flag)["deleted"]


def test_the_people_of_a_flag_become_a_static_cohort(
    console: Console, people: Project, open_flag: Open
) -> None:
    flag = people.flag("kept", when(has("plan", "pro")))
    open_flag(flag)

    console.page.get_by_role("button", name="More actions").click()
    console.page.get_by_role("menuitem", name="Save its people as a cohort").click()

    expect(console.page.get_by_role("heading", level=1)).to_contain_text("kept")
    expect(console.page.get_by_text("Static", exact=True)).to_be_visible()
    [cohort] = people.get("/cohorts/", search="kept")["results"]
    until(
        lambda: people.get(f"/cohorts/{cohort['id']}/")["count"] == 20,
        "the cohort has not got its members",
    )


def test_the_json_is_checked_before_it_is_applied(
    console: Console, people: Project, open_flag: Open
) -> None:
    open_flag(people.flag("as-json"))
    console.watch.expect_status(400, "/reach/")

    console.press(".")
    dialog = console.page.get_by_role("dialog")
    editor = dialog.get_by_role("textbox")
    editor.fill('{"filters": {"groups": [{"rollout_percentag": 5}]}}')
    dialog.get_by_role("button", name="Apply").click()
    expect(dialog.get_by_role("alert")).to_contain_text("filters.groups.0")
    console.expect_accessible()
    editor.fill('{"filters": {"groups": [{"rollout_percentage": 5}]}}')
    dialog.get_by_role("button", name="Apply").click()

    expect(dialog).to_have_count(0)
    expect(console.page.get_by_label("Rollout of condition 1", exact=True)).to_have_value("5")


def test_a_viewer_sees_everything_and_changes_nothing(
    visit: Visit, installation: Installation, people: Project
) -> None:
    viewer = visit(installation.viewer)
    flag = people.flag("looked-at", when(has("plan", "pro")))

    viewer.open(people.at(f"flags/{flag['id']}"))

    expect(viewer.page.get_by_text("You are a viewer")).to_be_visible()
    expect(viewer.page.get_by_role("switch", name="looked-at")).to_be_disabled()
    expect(viewer.page.get_by_label("Rollout of condition 1", exact=True)).to_be_disabled()
    expect(viewer.page.get_by_role("button", name="Add condition")).to_have_count(0)
    expect(condition(viewer, 1)).to_contain_text("matches 20 of 30 people")


def test_a_flag_for_groups_is_counted_and_tried_by_group(
    console: Console, project: Project
) -> None:
    names: Json = {"$group_type": "company"}
    for key, plan in {"acme": "pro", "blue": "free"}.items():
        named = {**names, "$group_key": key, "$group_set": {"plan": plan}}
        project.capture({"event": "$groupidentify", "distinct_id": "x", "properties": named})
    of_plan = has("plan", "pro", "exact", "group") | {"group_type_index": 0}
    holdout = [{"properties": [], "rollout_percentage": 0, "variant": "held"}]
    index = {"aggregation_group_type_index": 0, "holdout_groups": holdout}
    flag = project.flag("by-company", when(of_plan, rollout=0), filters=index)
    console.open(project.at(f"flags/{flag['id']}?try=x"))
    page = console.page

    page.get_by_label("Key of the company").fill("acme")
    page.get_by_label("Rollout of condition 1", exact=True).fill("100")
    expect(condition(console, 1)).to_contain_text("matches 1 of 2 groups")
    expect(page.get_by_role("region", name="Unsaved", exact=True)).to_contain_text("true")
    page.get_by_text("More settings").click()
    console.choose(page.get_by_label("Evaluated by"), "server SDKs")
    expect(page.get_by_role("region", name="Unsaved changes")).to_contain_text("1 group goes from")
    save(console)

    expect(page.get_by_text("Version 2")).to_be_visible()
    now = saved(project, flag)
    assert now["evaluation_runtime"] == "server"
    assert now["filters"]["holdout_groups"] == holdout
    assert now["filters"]["groups"][0]["rollout_percentage"] == 100


def test_a_rollout_above_100_says_so_and_is_not_cut_to_another_number(
    console: Console, people: Project, open_flag: Open
) -> None:
    flag = people.flag("too-much", when(has("plan", "pro"), rollout=10), when(rollout=20))
    open_flag(flag)
    field = console.page.get_by_label("Rollout of condition 1", exact=True)

    field.click()
    console.page.keyboard.type("150")
    console.press("Tab")

    expect(field).to_have_value("150")
    expect(condition(console, 1)).to_contain_text("Enter a number from 0 to 100.")
    expect(console.page.get_by_role("region", name="Unsaved changes")).to_have_count(0)
    console.expect_accessible()

    console.page.get_by_label("Rollout of condition 2", exact=True).fill("30")
    bar = console.page.get_by_role("region", name="Unsaved changes")
    expect(bar).to_contain_text("Rollout of condition 1: enter a number from 0 to 100.")
    expect(bar.get_by_role("button", name="Review and save")).to_be_disabled()

    field.fill("15")
    save(console)
    groups = saved(people, flag)["filters"]["groups"]
    assert [group["rollout_percentage"] for group in groups] == [15, 30]


def test_a_flag_for_everyone_does_not_count_nobody_before_there_are_persons(
    console: Console, project: Project
) -> None:
    flag = project.flag("for-all")
    console.open(project.at(f"flags/{flag['id']}"))

    expect(condition(console, 1)).to_contain_text(
        "Matches everyone, but there are no persons to count yet."
    )
    expect(console.page.get_by_text("0 people")).to_have_count(0)


def test_visitors_without_a_person_are_named_beside_the_count(
    console: Console, people: Project, open_flag: Open
) -> None:
    open_flag(people.flag("some-and-all", when(has("plan", "pro"), rollout=10), when(rollout=20)))

    expect(condition(console, 2)).to_contain_text("matches 30 of 30 people")
    expect(condition(console, 2)).to_contain_text("visitors without a person profile")
    expect(condition(console, 1)).not_to_contain_text("visitors without a person profile")


@pytest.mark.parametrize("width", [1440, 390])
def test_a_message_does_not_cover_what_saves(
    console: Console, people: Project, open_flag: Open, width: int
) -> None:
    open_flag(people.flag(f"covered-{width}", when(rollout=10)))
    page = console.page
    page.set_viewport_size(narrow(width))
    page.get_by_label("Rollout of condition 1", exact=True).fill("20")

    page.get_by_role("switch").first.click()
    console.expect_toast("Switched off")
    page.get_by_role("button", name="Review and save").click(timeout=5_000)

    expect(page.get_by_role("dialog", name="Save changes")).to_be_visible()
