"""Path cleaning: text in names that matches a regular expression is replaced.

Source: insights.md, section 9.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Self

from fanion.errors import Invalid
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.options import text
from fanion.properties.values import groups_of
from fanion.rest.options import Option, Options, read

FILTERS_MAX: Final = 50
CHARS_MAX: Final = 400  # in the expression, and in its alias

_ESCAPED = re.compile(r"\\(.?)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Cleaning(Options):
    r"""A regular expression and its replacement.

    Attributes:
        regex: In the syntax of RE2.
        alias: The replacement of each match; `\0` to `\9` stand for the groups of the match.
    """

    required = ("regex",)
    known = ("order",)  # the list is sorted by it

    regex: Annotated[str, Option(text().read, text(CHARS_MAX).schema)] = ""
    alias: Annotated[str, Option(text().read, text(CHARS_MAX).schema)] = ""

    def completed(self, fields: Fields) -> Self:
        if not self.regex:
            raise fields.error("regex", "This field is required.")
        for name, sent in (("regex", self.regex), ("alias", self.alias)):
            if len(sent) > CHARS_MAX:
                detail = f"Ensure this field has no more than {CHARS_MAX} characters."
                raise fields.error(name, detail)
        groups = groups_of(self.regex)
        if groups is None:
            raise fields.error("regex", "Not a valid regular expression (RE2).")
        if not all(_is_allowed(escape[1], groups) for escape in _ESCAPED.finditer(self.alias)):
            detail = f"The regular expression has {groups} groups. Write a backslash as two."
            raise fields.error("alias", detail)
        fields.refuse_unread("Path cleaning filters", self.known)
        return self


def project_cleaning(stored: Sequence[Mapping[str, Any]]) -> tuple[Cleaning, ...]:
    """Read the path cleaning filters of a project.

    Raises:
        Invalid: One of them cannot be used.
    """
    try:
        return tuple(read(Cleaning, Fields(item)) for item in stored[:FILTERS_MAX])
    except Invalid as error:
        detail = f"A path cleaning filter of the project cannot be used: {error.detail}"
        raise Invalid(detail, attr="path_replacements") from None


def _is_allowed(escaped: str, groups: int) -> bool:
    if escaped == "\\":
        return True
    return escaped != "" and escaped in "0123456789" and int(escaped) <= groups
