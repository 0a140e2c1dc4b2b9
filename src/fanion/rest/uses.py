"""The error that refuses the deletion of something that is used elsewhere."""

from collections.abc import Sequence
from typing import Final

from fanion.errors import Invalid

NAMED_MAX: Final = 20


def in_use(kind: str, uses: Sequence[str]) -> Invalid:
    """Return the error for a deletion, which names the first uses.

    Args:
        kind: What was to be deleted, such as `action`.
        uses: What uses it, each such as `insight "Sign-ups"`.
    """
    more = len(uses) - NAMED_MAX
    named = ", ".join(uses[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
    return Invalid(
        f"This {kind} is used by {named}. Remove it from there before you delete it.",
        code="in_use",
        attr="deleted",
    )
