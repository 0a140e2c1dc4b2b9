"""How many examples a random test runs, by the profile that Hypothesis is started with."""

from hypothesis import settings

MANY = "many"


def examples(many: int, few: int = 3) -> int:
    """Return `many` with the profile of that name, of `make test-all`.

    For tests whose examples take so long that `make test` would wait for them. It runs a third, but
    at least a few.
    """
    is_many = settings.get_current_profile_name() == MANY
    return many if is_many else max(many // 3, few)
