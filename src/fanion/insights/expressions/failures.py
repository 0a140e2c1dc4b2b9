"""Meanings of the errors of the engine for the text of a user.

The codes are those of ClickHouse.
"""

from collections.abc import Mapping
from typing import Final

VALUE_REJECTED: Final = "A value cannot be read as what the query takes it for, such as a date."
MEANINGS: Final[Mapping[int, str]] = {
    **dict.fromkeys((42, 35, 34), "A function has too many or too few values."),
    **dict.fromkeys(
        (43, 44, 48, 70, 130, 169, 386, 53),
        "A function or a comparison does not take a value of this type. Properties are texts: "
        "use toFloat(properties.price).",
    ),
    153: "A whole number is divided by zero.",
    **dict.fromkeys((215, 1), "A column is neither in GROUP BY nor within an aggregate."),
    **dict.fromkeys((174, 184), "An aggregate cannot be used here."),
    **dict.fromkeys((125, 20), "A SELECT within an expression must have one column and one row."),
    258: "The SELECTs of UNION must have the same number of columns.",
    **dict.fromkeys((47, 179, 207, 352, 403), "A column cannot be found, or stands for itself."),
    59: "A condition must be true or false.",
    6: "A text cannot be read as a number.",
    36: "A function has a value that it cannot use.",
}
