"""Tags, as people give them to flags and definitions."""

from collections.abc import Sequence


def normal_tags(tags: Sequence[str]) -> list[str]:
    """Trimmed, in lower case, each once, in the order given; blank ones are left out.

    source: capture.md section 7
    """
    return [tag for tag in dict.fromkeys(tag.strip().lower() for tag in tags) if tag]
