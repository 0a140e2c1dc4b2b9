"""Tests that compare the text of one property, run together.

A project has many flags for some users or organizations each, so that hundreds of tests look at the
same property. In a table such a test takes 20 ns, by itself 100 to 150.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Generic, TypeVar

from fanion.properties.filters import Property
from fanion.properties.match import Properties, equal_texts
from fanion.properties.values import text_of

T = TypeVar("T", bound=Callable[..., bool])

_EXACT, _CONTAINS = "exact", "icontains"


@dataclass(frozen=True, slots=True)
class TextTable(Generic[T]):
    """Tests that compare the lower-case text of a property.

    Attributes:
        key: The name of the property.
        equal: Text → the tests that it passes.
        parts: The text that each test of `containing` looks for.
    """

    key: str
    equal: Mapping[str, Sequence[T]]
    parts: tuple[str, ...]
    containing: tuple[T, ...]

    def tests(self) -> Iterator[T]:
        """Yield the tests; one for several texts is yielded for each of them."""
        for tests in self.equal.values():
            yield from tests
        yield from self.containing

    def passed(self, properties: Properties) -> list[T]:
        """Return the tests that the property passes."""
        value = properties.get(self.key)
        if value is None:
            return []
        text = (value if type(value) is str else text_of(value)).lower()
        contained = compress(self.containing, map(text.__contains__, self.parts))
        return [*self.equal.get(text, ()), *contained]


def has_table(leaf: Property) -> bool:
    """Return whether the test of a leaf can be in a table."""
    return leaf.operator in (_EXACT, _CONTAINS) and not leaf.negation


def text_table(key: str, tests: Iterable[tuple[Property, T]]) -> TextTable[T]:
    """Return the table of tests that `has_table` accepts.

    Args:
        key: The name of their property.
        tests: What each test was compiled from, and the test.
    """
    equal: dict[str, list[T]] = {}
    parts: list[str] = []
    containing: list[T] = []
    for leaf, test in tests:
        if leaf.operator == _CONTAINS:
            parts.append(text_of(leaf.value).lower())
            containing.append(test)
        else:
            for text in equal_texts(leaf.value):
                equal.setdefault(text, []).append(test)
    return TextTable(key, equal, tuple(parts), tuple(containing))
