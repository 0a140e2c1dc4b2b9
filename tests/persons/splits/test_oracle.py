"""Random events, merges and splits against a plain map from distinct ids to persons."""

from itertools import count

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fanion.events.event import EventQuery
from tests.support.application import Json, Tenant
from tests.support.examples import examples

IDS = "abcde"
AT = "2024-02-28T10:00:00Z"
_runs = count(1)

names = st.sampled_from(IDS)
steps = st.one_of(
    st.tuples(st.just("event"), names, names),
    st.tuples(st.just("merge"), names, names),
    st.tuples(st.just("split"), names, names),
)


class World:
    """The persons as they should be: each distinct id that is known, with its person."""

    def __init__(self, run: int) -> None:
        self.run = run
        self.persons: dict[str, int] = {}
        self.with_events: set[str] = set()
        self._numbers = count(1)

    def name(self, letter: str) -> str:
        return f"{self.run}-{letter}"

    def see(self, letter: str) -> Json:
        self.with_events.add(letter)
        self.persons.setdefault(letter, next(self._numbers))
        return self._event("seen", letter)

    def merge(self, letter: str, other: str) -> Json:
        """Merge as `$merge_dangerously` does, which is an event of the first id too."""
        self.with_events.add(letter)
        known = [self.persons[name] for name in (letter, other) if name in self.persons]
        person = known[0] if known else next(self._numbers)
        gone = self.persons.get(other, person)
        self.persons = {
            name: person if of in (gone, person) else of for name, of in self.persons.items()
        } | {letter: person}
        if other != letter:
            self.persons[other] = person
        return self._event("$merge_dangerously", letter, alias=self.name(other))

    def may_leave(self, letter: str) -> bool:
        return list(self.persons.values()).count(self.persons.get(letter, 0)) > 1

    def leave(self, letter: str) -> None:
        self.persons[letter] = next(self._numbers)

    def partition(self) -> set[frozenset[str]]:
        """Return the distinct ids that have events, by person."""
        of: dict[int, set[str]] = {}
        for letter in self.with_events:
            of.setdefault(self.persons[letter], set()).add(self.name(letter))
        return {frozenset(ids) for ids in of.values()}

    def _event(self, name: str, letter: str, **more: str) -> Json:
        properties = {"run": self.run, **more}
        return {
            "event": name,
            "distinct_id": self.name(letter),
            "timestamp": AT,
            "properties": properties,
        }


async def owners(tenant: Tenant, run: int) -> set[frozenset[str]]:
    found: dict[str, set[str]] = {}
    for event in await tenant.server.events.list(tenant.project_id, EventQuery(limit=10_000)):
        if event.distinct_id.startswith(f"{run}-"):
            found.setdefault(str(event.person_id), set()).add(event.distinct_id)
    return {frozenset(ids) for ids in found.values()}


async def users(tenant: Tenant, run: int) -> int:
    asked = {
        "events": [{"id": None, "math": "dau"}],
        "properties": [{"key": "run", "value": run, "type": "event"}],
        "date_from": "2024-02-28",
        "date_to": "2024-02-29",
    }
    answer = await tenant.api.post("/insights/trend/", json=asked)
    return int(answer.json()["result"][0]["data"][0])


async def make(tenant: Tenant, world: World, kind: str, letter: str, other: str) -> None:
    if kind == "split":
        if world.may_leave(letter):
            person = await tenant.person(world.name(letter))
            answer = await tenant.api.post(
                f"/persons/{person['id']}/split/",
                json={"distinct_ids_to_split": [world.name(letter)]},
            )
            assert answer.status_code == 201, answer.text
            world.leave(letter)
        return
    await tenant.capture(world.see(letter) if kind == "event" else world.merge(letter, other))


# It takes seconds: the engine rewrites the events of each split.
@settings(
    max_examples=examples(15),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(made=st.lists(steps, min_size=4, max_size=12))
async def test_persons_are_those_of_a_plain_map(
    tenant: Tenant, made: list[tuple[str, str, str]]
) -> None:
    world = World(next(_runs))
    for kind, letter, other in made:
        await make(tenant, world, kind, letter, other)

    expected = world.partition()
    assert await owners(tenant, world.run) == expected
    assert await users(tenant, world.run) == len(expected)
    for letter, person in world.persons.items():
        of_person = [world.name(name) for name, of in world.persons.items() if of == person]
        stored = await tenant.person(world.name(letter))
        assert stored["distinct_ids"] == sorted(of_person)
