"""All screens of the console, for screenshots and for rules that hold on each of them."""

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from tests.console.screen import Console
from tests.console.showcase import Showcase

PROJECT_TABS = ("general", "keys", "ingestion", "testAccounts", "paths", "webhooks", "transfer")
ACCOUNT_TABS = ("profile", "password", "factor", "sessions", "keys")
FLAG_TABS = ("rollout", "usage", "activity", "access")
PERSON_TABS = ("properties", "cohorts", "flags", "ids", "activity")
ORGANIZATION_TABS = ("members", "invites", "roles", "signIn", "general")
# Visitors by browser, as the URL of an insight has it.
_VISITS = quote(
    '[{"event":"$pageview","math":"dau"}]&breakdowns=[{"property":"$browser"}]', safe="=&"
)
# From a visit to a payment.
_FUNNEL = "kind=funnels&" + quote(
    'series=[{"event":"$pageview"},{"event":"item added"},{"event":"checkout started"},'
    '{"event":"paid"}]',
    safe="=",
)
_BY_BROWSER = quote('breakdowns=[{"property":"$browser"}]', safe="=")
_TIMES = quote('funnels={"funnelVizType":"time_to_convert"}', safe="=")
_CONVERSION = quote('funnels={"funnelVizType":"trends"}', safe="=")
_LEFT_OUT = quote(
    'group_type=0&funnels={"layout":"horizontal","exclusions":[{"kind":"EventsNode",'
    '"event":"checkout failed","funnelFromStep":0,"funnelToStep":3}]}',
    safe="=&",
)
_ATTACKED = "kind=funnels&" + quote(
    'series=[{"event":"<b>bold</b> event","custom_name":"<i>step</i>"},{"event":"paid"}]'
    '&breakdowns=[{"property":"markup"},{"property":"bidi"},{"property":"unbroken"}]',
    safe="=&",
)
FILTERED = quote(
    '[{"by":"Country","value":"DE"},{"by":"Browser","value":"Safari","not":true}]', safe=""
)
_VIEWS = quote('[{"event":"$pageview"}]&from=-13d', safe="=&")
_PAGES = quote('{"includeEventTypes":["$pageview"]}')
# People who fill a cart and pay on later days.
_RETENTION = quote(
    'retention&series=[{"event":"item added"},{"event":"paid"}]'
    '&retention={"display":"ActionsLineGraph"}&from=-14d',
    safe="=&",
)
_PAYMENTS = quote(
    "SELECT properties.$browser AS browser, count() AS payments, "
    "sum(toFloat(properties.amount)) AS sum\n"
    "FROM events\nWHERE event = 'paid'\nGROUP BY browser\nORDER BY payments DESC"
)
Prepare = Callable[[Console], None]


def as_opened(_: Console) -> None:
    """Do nothing after the screen is opened."""


@dataclass(frozen=True)
class Screen:
    """A screen of the console.

    Attributes:
        path: The path of the console.
        prepare: The steps on the screen before it is looked at.
    """

    name: str
    path: Callable[[Showcase], str]
    prepare: Prepare = as_opened

    def show(self, console: Console, showcase: Showcase) -> None:
        console.open(self.path(showcase))
        self.prepare(console)
        console.settle()


def _plain(name: str, path: str, prepare: Prepare = as_opened) -> Screen:
    return Screen(name, lambda _: path, prepare)


def _in_project(name: str, path: str, prepare: Prepare = as_opened) -> Screen:
    return Screen(name, lambda showcase: showcase.project.at(path), prepare)


def _flag(name: str, key: str, prepare: Prepare = as_opened, tab: str = "") -> Screen:
    def path(showcase: Showcase) -> str:
        return showcase.project.at(f"flags/{showcase.flags[key]['id']}{f'?tab={tab}' * bool(tab)}")

    return Screen(name, path, prepare)


def _person(
    name: str,
    distinct_id: Callable[[Showcase], str],
    prepare: Prepare = as_opened,
    tab: str = "",
) -> Screen:
    def path(showcase: Showcase) -> str:
        person = showcase.project.person(distinct_id(showcase))
        return showcase.project.at(f"persons/{person['uuid']}{f'?tab={tab}' * bool(tab)}")

    return Screen(name, path, prepare)


def _somebody(showcase: Showcase) -> str:
    return showcase.people[3]


def _attacker(showcase: Showcase) -> str:
    return showcase.hostile


def _cohort(name: str, which: str) -> Screen:
    def path(showcase: Showcase) -> str:
        return showcase.project.at(f"cohorts/{showcase.cohorts[which]['id']}")

    return Screen(name, path)


def _dashboard(name: str, query: str = "") -> Screen:
    def path(showcase: Showcase) -> str:
        return showcase.project.at(f"dashboards/{showcase.dashboard['id']}{query}")

    return Screen(name, path)


def _alert(name: str, prepare: Prepare = as_opened) -> Screen:
    def path(showcase: Showcase) -> str:
        shown = showcase.alert
        place = f"insights/{shown['insight']}?tab=alerts&alert={shown['id']}"
        return showcase.project.at(place)

    return Screen(name, path, prepare)


def _edit_alert(console: Console) -> None:
    console.page.get_by_role("button", name="Edit", exact=True).click()
    console.page.get_by_role("form", name="Edit alert").wait_for()


def _experiment(name: str, state: str, prepare: Prepare = as_opened) -> Screen:
    def path(showcase: Showcase) -> str:
        return showcase.project.at(f"experiments/{showcase.experiments[state]['id']}")

    return Screen(name, path, prepare)


def _definition(name: str, event: str) -> Screen:
    def path(showcase: Showcase) -> str:
        definitions = showcase.project.get("/event_definitions/", search=event)["results"]
        return showcase.project.at(f"events/{definitions[0]['id']}")

    return Screen(name, path)


def _open_menu(console: Console) -> None:
    console.press("Control+k")
    console.page.get_by_role("dialog").wait_for()


def _open_correlation(console: Console) -> None:
    console.page.get_by_role("button", name="What goes with converting").click()
    console.settle()


def _pressing(name: str) -> Prepare:
    """Return the step that presses a button that opens a dialog."""

    def press(console: Console) -> None:
        console.page.get_by_role("button", name=name, exact=True).first.click()
        console.page.get_by_role("dialog").or_(console.page.get_by_role("alertdialog")).wait_for()

    return press


def _split_person(console: Console) -> None:
    console.page.get_by_label("Select visitor-").first.check()
    console.page.get_by_role("button", name="Split off…").click()
    console.page.get_by_role("dialog").get_by_text("Properties and static").wait_for()


def _delete_person(console: Console) -> None:
    console.page.get_by_role("button", name="More actions").click()
    console.page.get_by_role("menuitem", name="Delete…").click()
    console.page.get_by_role("dialog").or_(console.page.get_by_role("alertdialog")).wait_for()


def _edit_json(console: Console) -> None:
    console.press(".")
    console.page.get_by_role("dialog").wait_for()


def _change_share(console: Console) -> None:
    console.page.get_by_label("Rollout of condition 1", exact=True).fill("60")
    console.page.get_by_role("region", name="Unsaved changes").wait_for()


def _review(console: Console) -> None:
    _change_share(console)
    console.settle()
    console.press("Control+s")
    console.page.get_by_role("dialog").wait_for()


def _show_keys(console: Console) -> None:
    console.press("?")
    console.page.get_by_role("dialog").wait_for()


SCREENS = (
    Screen("onboarding", lambda showcase: showcase.empty.at()),
    _in_project("home", ""),
    _in_project("command-menu", "", _open_menu),
    _in_project("keys", "", _show_keys),
    _in_project("live", "live"),
    _in_project("insights", "insights?generated=true"),
    _in_project("alerts", "insights?alerts=true"),
    _alert("alert"),
    _alert("alert-edited", _edit_alert),
    _in_project("insight-empty", "insights/new"),
    _in_project("dashboards", "dashboards?generated=true"),
    _dashboard("dashboard"),
    _dashboard("dashboard-full", "?full=0"),
    _in_project("insight-trend", f"insights/new?series={_VISITS}"),
    _in_project("funnel", f"insights/new?{_FUNNEL}"),
    _in_project("funnel-by-browser", f"insights/new?{_FUNNEL}&{_BY_BROWSER}", _open_correlation),
    _in_project("funnel-left-out", f"insights/new?{_FUNNEL}&{_LEFT_OUT}"),
    _in_project("funnel-attacked", f"insights/new?{_ATTACKED}"),
    _in_project("funnel-times", f"insights/new?{_FUNNEL}&{_TIMES}"),
    _in_project("funnel-trend", f"insights/new?{_FUNNEL}&{_CONVERSION}"),
    _in_project("web", "web?goals=%5B%22paid%22%2C%22signed%20up%22%5D"),
    _in_project("web-filtered", f"web?compare=true&where={FILTERED}"),
    _in_project("web-goal", "web?goals=%5B%22paid%22%5D&goal=paid&sources=InitialUTMSource"),
    _in_project("web-all", "web?all=Page"),
    Screen("web-none", lambda showcase: showcase.empty.at("web")),
    _in_project("insight-retention", f"insights/new?kind={_RETENTION}"),
    _in_project("insight-stickiness", f"insights/new?kind=stickiness&series={_VIEWS}"),
    _in_project("insight-paths", f"insights/new?kind=paths&paths={_PAGES}&from=-13d"),
    _in_project("insight-life-cycle", f"insights/new?kind=lifecycle&series={_VIEWS}"),
    _in_project("sql", f"sql?query={_PAYMENTS}"),
    _in_project("flags", "flags"),
    _in_project("flags-deleted", "flags?deleted=true"),
    Screen("flags-none", lambda showcase: showcase.empty.at("flags")),
    _in_project("flag-new", "flags/new"),
    _flag("flag", "new-checkout"),
    _flag("flag-variants", "checkout-layout"),
    _flag("flag-of-groups", "company-dashboard"),
    _flag("flag-with-rollback", "risky-payment", tab="rollout"),
    _flag(
        "flag-release",
        "gradual",
        _pressing("Start guarded release"),
        tab="rollout",
    ),
    _flag("flag-scheduled", "gradual", tab="rollout"),
    _flag("flag-dependent", "dependent"),
    _flag("flag-hostile", "a-key-that-is-as-long-as-keys-of-a-team-that-writes-sentences"),
    *(_flag(f"flag-{tab}", "new-checkout", tab=tab) for tab in FLAG_TABS),
    _flag("flag-json", "checkout-layout", _edit_json),
    _flag("flag-unsaved", "new-checkout", _change_share),
    _flag("flag-save", "new-checkout", _review),
    _in_project("experiments", "experiments"),
    Screen("experiments-none", lambda showcase: showcase.empty.at("experiments")),
    _in_project("experiment-new", "experiments/new"),
    _experiment("experiment", "running"),
    _experiment("experiment-draft", "draft"),
    _in_project("persons", "persons"),
    _person("person", _somebody),
    _person("person-hostile", _attacker),
    *(_person(f"person-{tab}", _attacker, tab=tab) for tab in PERSON_TABS),
    _person("person-merge", _somebody, _pressing("Merge with…")),
    _person("person-merges", _somebody, tab="ids"),
    _person("person-split", _somebody, _split_person, tab="ids"),
    _person("person-delete", _somebody, _delete_person),
    _in_project("groups", "groups"),
    _in_project("group", "groups/0/company-3"),
    _in_project("actions", "actions"),
    _in_project("action-new", "actions/new"),
    Screen("action", lambda showcase: showcase.project.at(f"actions/{showcase.action['id']}")),
    _in_project("segments", "segments"),
    _in_project("segment-new", "segments/new"),
    _in_project("cohorts", "cohorts"),
    _in_project("cohorts-deleted", "cohorts?deleted=true"),
    _in_project("cohort-new", "cohorts/new"),
    _cohort("cohort", "paying"),
    _cohort("cohort-static", "static"),
    _in_project("events", "events"),
    _definition("event", "paid"),
    _in_project("properties", "properties"),
    _in_project("annotations", "annotations"),
    _in_project("import", "import"),
    _in_project("exports", "exports"),
    _in_project("export-new", "exports", _pressing("New export")),
    _in_project("ingestion", "ingestion"),
    _in_project("activity", "activity"),
    *(_in_project(f"settings-{tab}", f"settings?tab={tab}") for tab in PROJECT_TABS),
    *(_plain(f"account-{tab}", f"/account?tab={tab}") for tab in ACCOUNT_TABS),
    *(_plain(f"organization-{tab}", f"/organization?tab={tab}") for tab in ORGANIZATION_TABS),
    _plain("invite", "/organization", _pressing("Invite")),
    _plain("key-new", "/account?tab=keys", _pressing("New key")),
    _in_project("webhook-new", "settings?tab=webhooks", _pressing("New webhook")),
    _in_project("not-found", "nowhere"),
)
