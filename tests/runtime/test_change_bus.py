"""The bus between what changes and the caches that depend on it."""

from functools import partial

import pytest

from fanion.runtime.change_bus import ChangeBus, Topic


def test_each_subscriber_of_a_change_is_called_in_order_before_publish_returns() -> None:
    bus, calls = ChangeBus(), list[tuple[str, int]]()
    bus.subscribe(
        Topic.FLAGS,
        lambda change: calls.append(("a", change)),
        lambda change: calls.append(("b", change)),
    )
    bus.subscribe(Topic.FLAGS, lambda change: calls.append(("c", change)))

    bus.publish(Topic.FLAGS, 7)

    assert calls == [("a", 7), ("b", 7), ("c", 7)]


def test_changes_of_other_kinds_are_not_delivered() -> None:
    bus, calls = ChangeBus(), list[int]()
    bus.subscribe(Topic.PROJECT, calls.append)

    bus.publish(Topic.FLAGS, 1)
    bus.publish(Topic.PROJECT, 2)

    assert calls == [2]


def test_one_change_can_imply_another() -> None:
    bus, calls = ChangeBus(), list[int]()
    bus.subscribe(Topic.FLAGS, calls.append)
    bus.subscribe(Topic.GROUP_TYPES, partial(bus.publish, Topic.FLAGS))

    bus.publish(Topic.GROUP_TYPES, 3)

    assert calls == [3]


def test_after_unsubscribing_nothing_is_delivered() -> None:
    bus, calls = ChangeBus(), list[int]()
    subscriber = calls.append
    bus.subscribe(Topic.FLAGS, subscriber)

    bus.unsubscribe(Topic.FLAGS, subscriber)
    bus.publish(Topic.FLAGS, 1)

    assert calls == []
    with pytest.raises(ValueError, match="not in list"):
        bus.unsubscribe(Topic.FLAGS, subscriber)
