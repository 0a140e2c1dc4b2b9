"""Agreement with the local evaluator of posthog-python, wherever both have an answer.

Cases that the two decide differently on purpose are left out: the text of null and of booleans in a
pattern, ordering of text, what is after a day without a time, lower case beyond ASCII, and
everything about missing properties, which the SDK leaves to the server.
"""

import random
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from posthog.feature_flags import InconclusiveMatchError, match_feature_flag_properties

from fanion.flags.engine.conditions import CohortDefinition
from fanion.flags.engine.definition import FlagRow, compile_flag
from fanion.flags.engine.evaluate import evaluate
from fanion.flags.engine.flag_set import FlagSet, build_flag_set
from fanion.flags.engine.model import Subject
from fanion.properties.filters import parse_tree

NOW = datetime(2022, 5, 1, tzinfo=UTC)
TEXTS = ["", "pro", "Pro", "PRO plan", "a.b", "ann@corp.example", "307", "1.5", "true", "False"]
NUMBERS = [0, 1, -3, 1.5, 307, 1e6, 0.1, 2**53]
DATES = [
    "2022-05-01",
    "2022-04-30T12:00:00Z",
    "2022-05-01T02:00:00+02:00",
    "2022-05-01 00:00:01 +00:00",
    "2023-01-01T00:00:00.250000",
]
# Without pre-releases and leading zeros, about which the SDK and semver.org disagree.
VERSIONS = ["1.2.3", "1.10.0", "v2.0", "0.3.1", "0.0.4", " 1.2.9 ", "1.2.3+7", "7"]
SEMVER = ("eq", "neq", "gt", "gte", "lt", "lte", "tilde", "caret", "wildcard")
PATTERNS = ["pro", "^pro$", "(?:P|p)ro", "[0-9]+", "\\d{3}", "@corp\\.example$", "a.b", "(", "x*"]
PERSON_KEYS: dict[str, list[Any]] = {
    "text": TEXTS,
    "number": NUMBERS,
    "flagged": [True, False],
    "date": DATES,
    "version": VERSIONS,
}


class Agreement:
    """A generated project that both evaluators evaluate."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.cohorts: dict[str, Any] = {"1": self._tree(2), "2": self._tree(1)}
        self.filters = {f"flag-{index}": self._filters(index) for index in range(40)}
        self.flag_set = self._flag_set()
        self.sdk_flags = {
            key: {"key": key, "active": True, "filters": {**filters, **_sdk_holdout(filters)}}
            for key, filters in self.filters.items()
        }

    def person(self) -> dict[str, Any]:
        return {key: self.choose.choice(values) for key, values in PERSON_KEYS.items()}

    def sdk(self, key: str, identifier: str, properties: Mapping[str, Any]) -> object:
        return match_feature_flag_properties(
            self.sdk_flags[key],
            identifier,
            properties,
            cohort_properties=self.cohorts,
            flags_by_key=self.sdk_flags,
            evaluation_cache={},
            bucketing_value=identifier,
            # Booleans compare as text with everything, as they do here.
            property_matching_version=2,
        )

    def _flag_set(self) -> FlagSet:
        rows = [
            FlagRow(1000 + index, key, filters)
            for index, (key, filters) in enumerate(self.filters.items())
        ]
        cohorts = [CohortDefinition(int(key), parse_tree(tree)) for key, tree in
                   self.cohorts.items()]  # fmt: skip
        return build_flag_set(map(compile_flag, rows), {0: "organization"}, cohorts)

    def _filters(self, index: int) -> dict[str, Any]:
        choose = self.choose
        variants = choose.choice(([], [50, 25, 25], [10, 20.5, 30], [33.3, 33.3, 33.4]))
        groups = [self._condition(index) for _ in range(choose.randint(0, 3))]
        groups += [{"properties": [], "rollout_percentage": choose.choice((5, 33.3, 80, 100))}]
        filters: dict[str, Any] = {"groups": groups}
        if variants:
            filters["multivariate"] = {
                "variants": [
                    {"key": f"v{number}", "rollout_percentage": share}
                    for number, share in enumerate(variants)
                ]
            }
            # Conditions that force a variant are tried first here, in place by the SDK.
            groups[0]["variant"] = choose.choice((None, "v1", "unknown"))
        if choose.random() < 0.2:
            filters["holdout_groups"] = [
                {"properties": [], "rollout_percentage": choose.choice((0, 30)),
                 "variant": "holdout-7"}
            ]  # fmt: skip
        return filters

    def _condition(self, index: int) -> dict[str, Any]:
        leaves = [self._leaf() for _ in range(self.choose.randint(0, 2))]
        kind = self.choose.random()
        if kind < 0.2:
            leaves.append({"type": "cohort", "key": "id", "value": self.choose.choice((1, 2, "2")),
                           "operator": self.choose.choice(("in", "exact", "not_in"))})  # fmt: skip
        elif kind < 0.35 and index:
            chain = [f"flag-{self.choose.randrange(index)}"]
            leaves.append({"type": "flag", "key": chain[0], "operator": "flag_evaluates_to",
                           "value": self.choose.choice((True, False, "v0", "v1")),
                           "dependency_chain": chain})  # fmt: skip
        share = self.choose.choice((None, 0, 12.5, 50, 99, 100))
        return {"properties": leaves, "rollout_percentage": share}

    def _tree(self, depth: int) -> dict[str, Any]:
        choose = self.choose
        values = [
            self._tree(depth - 1) if depth and choose.random() < 0.4 else self._negatable()
            for _ in range(choose.randint(1, 3))
        ]
        return {"type": choose.choice(("AND", "OR")), "values": values}

    def _negatable(self) -> dict[str, Any]:
        return {**self._leaf(), "negation": self.choose.random() < 0.3}

    def _leaf(self) -> dict[str, Any]:
        choose = self.choose
        key = choose.choice(list(PERSON_KEYS))
        operator = choose.choice(
            [
                *("exact", "is_not", "icontains", "not_icontains", "is_set"),
                *("starts_with", "not_starts_with", "ends_with", "not_ends_with"),
            ]
        )
        value: Any = choose.choice([*TEXTS, *NUMBERS, True, False])
        if operator in ("exact", "is_not") and choose.random() < 0.5:
            value = choose.sample([*TEXTS, *NUMBERS, True, False], choose.randint(1, 3))
        if key == "date" and choose.random() < 0.7:
            operator = choose.choice(["is_date_before", "is_date_after"])
            value = choose.choice(DATES[operator == "is_date_after" :])
        elif key == "number" and choose.random() < 0.5:
            operator = choose.choice(["gt", "gte", "lt", "lte"])
            value = choose.choice([*NUMBERS, "307", "-2", "1e3"])
        elif key == "version" and choose.random() < 0.8:
            operator, value = f"semver_{choose.choice(SEMVER)}", choose.choice(VERSIONS[:5])
            if operator == "semver_wildcard":
                value = choose.choice(["1.2.*", "1.*", "0.*.*", "v2.*"])
        elif key == "text" and choose.random() < 0.4:
            operator, value = choose.choice(["regex", "not_regex"]), choose.choice(PATTERNS)
        return {"type": "person", "key": key, "operator": operator, "value": value}


def _sdk_holdout(filters: Mapping[str, Any]) -> dict[str, Any]:
    holdouts = filters.get("holdout_groups")
    if not holdouts:
        return {}
    return {"holdout": {"id": 7, "exclusion_percentage": holdouts[0]["rollout_percentage"]}}


@pytest.mark.parametrize("seed", range(20))
def test_every_flag_of_a_generated_project_agrees_with_the_sdk(seed: int) -> None:
    project = Agreement(seed)
    decided = 0

    for number in range(20):
        identifier = f"user-{seed}-{number}"
        person = project.person()
        answer = evaluate(project.flag_set, Subject(identifier, sent=person), NOW)
        for key in project.filters:
            try:
                expected = project.sdk(key, identifier, person)
            except InconclusiveMatchError:
                continue
            decided += 1

            assert answer.decisions[key].value == expected, (project.filters[key], person)

    assert decided > 500


@pytest.mark.parametrize(
    ("key", "shares"), [("simple-flag", []), ("multivariate-flag", [50, 20, 20, 5, 5])]
)
@pytest.mark.parametrize("percentage", [0, 0.1, 45, 55, 99.9, 100])
def test_a_thousand_users_fall_where_the_sdk_puts_them(
    key: str, shares: list[float], percentage: float
) -> None:
    variants = [{"key": f"v{index}", "rollout_percentage": s} for index, s in enumerate(shares)]
    filters = {
        "groups": [{"properties": [], "rollout_percentage": percentage}],
        "multivariate": {"variants": variants},
    }
    flag_set = build_flag_set([compile_flag(FlagRow(1, key, filters))], {})
    sdk_flag = {"key": key, "active": True, "filters": filters}

    for number in range(1000):
        user = f"distinct_id_{number}"
        expected = match_feature_flag_properties(sdk_flag, user, {}, bucketing_value=user)

        assert evaluate(flag_set, Subject(user), NOW).decisions[key].value == expected
