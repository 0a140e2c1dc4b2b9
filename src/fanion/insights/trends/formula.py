"""Formulas of series, such as `A + B * 2`.

Source: insights.md, section 4c.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from string import ascii_uppercase
from typing import Final, Literal

CHARS_MAX: Final = 500
# Depth of parentheses and signs; far from the recursion limit.
DEPTH_MAX: Final = 50

_TOKEN = re.compile(r"\s*(?:([0-9]+(?:\.[0-9]*)?|\.[0-9]+)|([A-Za-z]+)|([-+*/()]))")
Operator = Literal["+", "-", "*", "/"]


class FormulaError(ValueError):
    """An error in a formula; the text tells a person what is wrong."""


@dataclass(frozen=True, slots=True)
class SeriesOf:
    """The values of a series.

    Attributes:
        place: The index of the series in the question.
    """

    place: int


@dataclass(frozen=True, slots=True)
class Applied:
    operator: Operator
    left: "Expression"
    right: "Expression"


Expression = float | SeriesOf | Applied


def parse_formula(text: str, series: int) -> Expression:
    """Parse a formula.

    Args:
        series: The number of series; `A` is the first.

    Raises:
        FormulaError: The text is not a formula of these series.
    """
    if len(text) > CHARS_MAX:
        raise FormulaError(f"A formula has at most {CHARS_MAX} characters.")
    return _Parser(_tokens(text), series).whole()


def evaluate_formula(formula: Expression, values: Sequence[float]) -> float:
    """Return the result of a formula at one point; division by zero and overflow give 0.

    Args:
        values: The values of the series at this point.
    """
    result = _calculated(formula, values)
    return result if isfinite(result) else 0.0


def _calculated(formula: Expression, values: Sequence[float]) -> float:
    if isinstance(formula, SeriesOf):
        return values[formula.place]
    if not isinstance(formula, Applied):
        return formula
    left, right = _calculated(formula.left, values), _calculated(formula.right, values)
    if formula.operator == "+":
        return left + right
    if formula.operator == "-":
        return left - right
    if formula.operator == "*":
        return left * right
    return left / right if right else 0.0


def _tokens(text: str) -> list[str]:
    tokens, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise FormulaError(f'A formula cannot contain "{text[at:].lstrip()[:1]}".')
        tokens.append(match[0].strip())
        at = match.end()
    return tokens


class _Parser:
    """A recursive descent parser.

    sum = product (("+" | "-") product)*
    product = signed (("*" | "/") signed)*
    signed = "-" signed | operand
    """

    def __init__(self, tokens: Sequence[str], series: int) -> None:
        self._tokens, self._series = tokens, series
        self._at = self._depth = 0

    def whole(self) -> Expression:
        expression = self._sum()
        if self._next is not None:
            raise FormulaError(f'"{self._next}" is not expected here.')
        return expression

    @property
    def _next(self) -> str | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _take_token(self) -> str:
        token = self._next
        if token is None:
            raise FormulaError("The formula is not complete.")
        self._at += 1
        return token

    def _sum(self) -> Expression:
        expression = self._product()
        while (operator := self._operator("+", "-")) is not None:
            expression = Applied(operator, expression, self._product())
        return expression

    def _product(self) -> Expression:
        expression = self._signed()
        while (operator := self._operator("*", "/")) is not None:
            expression = Applied(operator, expression, self._signed())
        return expression

    def _operator(self, *operators: Operator) -> Operator | None:
        """Take the next token if it is one of these."""
        for operator in operators:
            if self._next == operator:
                self._at += 1
                return operator
        return None

    def _signed(self) -> Expression:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise FormulaError(f"A formula is at most {DEPTH_MAX} levels deep.")
        expression = self._operand(self._take_token())
        self._depth -= 1
        return expression

    def _operand(self, token: str) -> Expression:
        if token == "-":
            return Applied("-", 0.0, self._signed())
        if token == "(":
            expression = self._sum()
            if self._take_token() != ")":
                raise FormulaError('A ")" is missing.')
            return expression
        if token[0].isdigit() or token[0] == ".":
            return float(token)
        return self._letter(token)

    def _letter(self, token: str) -> Expression:
        if not token.isalpha():
            raise FormulaError(f'"{token}" is not expected here.')
        index = ascii_uppercase.find(token.upper()) if len(token) == 1 else -1
        if not 0 <= index < self._series:
            raise FormulaError(f'There is no series "{token}".')
        return SeriesOf(index)
