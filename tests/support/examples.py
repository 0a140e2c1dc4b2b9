"""How many examples a random test runs, by the profile that Hypothesis is started with."""

from hypothesis import settings

MANY = "many"
FEW_MIN = 3


def examples(many: int) -> int:
    """Return `many` with the profile of that name, of `make test-all`, and a third without it.

    For tests whose examples take so long that `make test` would wait for them.
    """
    is_many = settings.get_current_profile_name() == MANY
    return many if is_many else max(many // 3, FEW_MIN)
