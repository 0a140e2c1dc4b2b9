"""Actions as Python functions, for events that streams show as they are stored.

`filters_sql` is the equivalent for the event store.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from fanion.properties.elements.comparisons import CHAIN, OPPOSITES
from fanion.properties.filters import ELEMENT, METADATA, ConditionGroup, Node, Property, leaves
from fanion.properties.match import PropertyTest, all_of, any_of, inverted, property_test

# Where a test finds the name of the event. No property can have this name: it is not UTF-8.
_NAME: Final = "\ud800name"
# Finds the values of an attribute in a chain of elements, in which quotes are escaped.
_ATTRIBUTE: Final = r'[:"]{name}="((?:[^"\\]|\\.)*)"'
_TESTS_KEPT: Final = 256

EventTest = Callable[[str, Mapping[str, Any], "At"], bool]


@dataclass(slots=True)
class At:
    """The moment from which relative dates count back."""

    now: datetime


def is_of_persons(condition: Node) -> bool:
    """Return whether a condition compares a property of the person, which no event has."""
    return any(isinstance(leaf, Property) and leaf.type == "person" for leaf in leaves(condition))


@lru_cache(_TESTS_KEPT)
def event_test(condition: Node) -> EventTest:
    """Return the test for an event, by its name and properties, to be one of an action.

    Args:
        condition: That of a resolved action, without conditions on persons.
    """
    test = _test(condition)
    return lambda name, properties, at: test({**properties, _NAME: name}, at)


def _test(node: Node) -> PropertyTest:
    if isinstance(node, ConditionGroup):
        tests = [_test(child) for child in node.children]
        return all_of(tests) if node.type == "AND" else any_of(tests)
    assert isinstance(node, Property)  # steps of actions have no others
    if node.type == METADATA:
        return property_test(replace(node, key=_NAME, type="event"))
    return _element_test(node) if node.type == ELEMENT else property_test(node)


def _element_test(leaf: Property) -> PropertyTest:
    """Return a test that passes if any element does; a negative one passes if none does."""
    if leaf.operator in OPPOSITES:
        opposite = replace(leaf, operator=OPPOSITES[leaf.operator], negation=False)
        test = _element_test(opposite)
        return test if leaf.negation else inverted(test)
    if leaf.negation:
        return inverted(_element_test(replace(leaf, negation=False)))
    test = property_test(replace(leaf, type="event"))
    pattern = re.compile(_ATTRIBUTE.format(name=re.escape(leaf.key)), re.DOTALL)

    def any_element(properties: Mapping[str, Any], at: Any) -> bool:
        values = _attributes(pattern, properties.get(CHAIN))
        return any(test({leaf.key: value}, at) for value in values)

    return any_element


def _attributes(pattern: "re.Pattern[str]", chain: object) -> Iterator[str]:
    if isinstance(chain, str):
        for found in pattern.findall(chain):
            yield found.replace('\\"', '"')
