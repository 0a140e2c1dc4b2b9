"""The steps of actions as trees of conditions on one event."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fanion.actions.model import CONDITIONS_MAX, STEPS_MAX, ActionRecord, ActionStep, Matching
from fanion.errors import Invalid
from fanion.properties.elements.comparisons import CHAIN
from fanion.properties.elements.selectors import SelectorError, selector_pattern, tag_pattern
from fanion.properties.filters import ELEMENT, METADATA, ConditionGroup, Node, Property, parse_leaf
from fanion.properties.operators import is_value_of
from fanion.properties.validation import check_comparison, check_names

URL: Final = "$current_url"
_OPERATORS: Final[Mapping[Matching, str]] = {
    "exact": "exact",
    "contains": "icontains",
    "regex": "regex",
}
_TYPES: Final = ("event", "person")


@dataclass(frozen=True, slots=True)
class ResolvedAction:
    """An action as statements and tests use it.

    Attributes:
        condition: Holds for the events of the action.
        events: The names that these events can have; None for any.
    """

    id: int
    name: str
    condition: Node
    events: tuple[str, ...] | None


def resolve_action(action: ActionRecord) -> ResolvedAction:
    """Return an action whose steps have been checked."""
    steps = tuple(step_condition(step) for step in action.steps)
    names = [step.event for step in action.steps]
    events = None if not all(names) else tuple(dict.fromkeys(name for name in names if name))
    condition = steps[0] if len(steps) == 1 else ConditionGroup("OR", steps)
    return ResolvedAction(action.id, action.name, condition, events)


def no_such_action(action_id: int, at: str | None) -> Invalid:
    detail = f"Action with id {action_id} does not exist"
    return Invalid(detail, code="action_does_not_exist", attr=at)


def require_actions_found(named: Mapping[int, str], found: Container[int]) -> None:
    """Raise Invalid for an action that was not found.

    Args:
        named: The place in the request of each id.
    """
    for action_id, place in named.items():
        if action_id not in found:
            raise no_such_action(action_id, place or None)


def check_steps(steps: Sequence[ActionStep], at: str = "steps") -> None:
    """Check the steps of an action.

    Raises:
        Invalid: There is none, one cannot be compared, or there are too many of them.
    """
    if not steps:
        raise Invalid("This list may not be empty.", code="empty", attr=at)
    if len(steps) > STEPS_MAX:
        raise Invalid(f"Ensure this list has at most {STEPS_MAX} elements.", attr=at)
    conditions = sum(_check_step(step, f"{at}__{n}") for n, step in enumerate(steps))
    if conditions > CONDITIONS_MAX:
        raise Invalid(f"The steps have more than {CONDITIONS_MAX} conditions.", attr=at)


def step_condition(step: ActionStep) -> ConditionGroup:
    """Return the condition of a step that was checked."""
    return ConditionGroup("AND", tuple(_conditions(step)))


def _check_step(step: ActionStep, at: str) -> int:
    """Check a step and return the number of its conditions."""
    for number, raw in enumerate(step.properties or ()):
        _check_property(raw, f"{at}__properties__{number}")
    for name, matching in (
        ("url", step.url_matching),
        ("text", step.text_matching),
        ("href", step.href_matching),
    ):
        if matching == "regex" and not is_value_of("pattern", getattr(step, name) or ""):
            detail = "It must be a regular expression of the RE2 syntax."
            raise Invalid(detail, code="invalid_value", attr=f"{at}__{name}")
    for name, pattern in (("selector", selector_pattern), ("tag_name", tag_pattern)):
        value = getattr(step, name)
        try:
            if value:
                pattern(value)
        except SelectorError as error:
            raise Invalid(str(error), code="invalid_value", attr=f"{at}__{name}") from None
    conditions = list(_conditions(step))
    if not conditions:
        raise Invalid("A step needs an event or a condition.", attr=at)
    return len(conditions)


def _check_property(raw: Any, at: str) -> None:
    """Check a condition on a property of the event or of its person.

    Raises:
        Invalid: It cannot be read, or names something else.
    """
    try:
        leaf = parse_leaf(raw)
    except ValueError as error:
        raise Invalid(f"The condition cannot be read: {error}.", attr=at) from None
    if not isinstance(leaf, Property) or leaf.type not in _TYPES:
        detail = "Steps have conditions on properties of the event and of its person only."
        raise Invalid(detail, attr=f"{at}__type")
    check_names(raw, at)
    check_comparison(raw, at)


def _conditions(step: ActionStep) -> Iterator[Node]:
    if step.event:
        yield Property("event", step.event, type=METADATA)
    if step.url:
        yield Property(URL, step.url, _OPERATORS[step.url_matching or "contains"])
    for name, value, matching in (
        ("text", step.text, step.text_matching),
        ("href", step.href, step.href_matching),
    ):
        if value:
            yield Property(name, value, _OPERATORS[matching or "exact"], ELEMENT)
    if step.selector:
        yield Property(CHAIN, selector_pattern(step.selector), "regex")
    if step.tag_name:
        yield Property(CHAIN, tag_pattern(step.tag_name), "regex")
    for raw in step.properties or ():
        yield parse_leaf(raw)
