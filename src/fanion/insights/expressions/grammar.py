"""The grammar of SQL that users write: its limits, and its parsing into a tree.

The tree is only read. No part of the text is ever sent to the event store.

Source: insights.md, section 10.
"""

from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Final, NamedTuple

from sqlglot import exp
from sqlglot import parser as base
from sqlglot.dialects.clickhouse import ClickHouse
from sqlglot.errors import SqlglotError
from sqlglot.parsers.clickhouse import ClickHouseParser
from sqlglot.tokenizer_core import Token, TokenType

TEXT_BYTES_MAX: Final = 64 * 2**10
TOKENS_MAX: Final = 5_000
DEPTH_MAX: Final = 50
# How often the parser may read a token, as it tries one form after another.
_READS_OF_A_TOKEN: Final = 50

_OPENING: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_DEEPER: Final = _OPENING | {TokenType.CASE}
_SHALLOWER: Final = _CLOSING | {TokenType.END}
_FIRST: Final = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN})
# No text can contain this as an unquoted name, since it has spaces.
COHORT: Final = "members of a cohort"


class Place(NamedTuple):
    """A character of a text.

    Attributes:
        field: The field of the request that has the text; empty for the only text.
    """

    start: int
    field: str = ""


class Refused(Exception):
    """The refusal of a text.

    Attributes:
        detail: A sentence without the place.
        place: What is wrong begins here; None if it is the whole text.
    """

    def __init__(self, detail: str, place: Place | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.place = place

    def placed(self, text: str) -> str:
        """Return the sentence with the line and the column in the text."""
        if self.place is None or self.place.start > len(text):
            return self.detail
        before = text[: self.place.start]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        return f"{self.detail} Line {line}, column {column}."


class TooDeep(Refused):
    def __init__(self, place: Place | None = None) -> None:
        super().__init__(f"The query is nested more than {DEPTH_MAX} levels deep.", place)


class _Tokenizer(ClickHouse.Tokenizer):
    # Names of properties begin with a dollar sign, which is no quote here.
    VAR_SINGLE_TOKENS: ClassVar[set[str]] = {"$"}
    HEREDOC_STRINGS: ClassVar[list[Any]] = []
    SINGLE_TOKENS: ClassVar[dict[str, TokenType]] = {
        name: kind for name, kind in ClickHouse.Tokenizer.SINGLE_TOKENS.items() if name != "$"
    }


def _only(parsers: Mapping[Any, Any], names: Collection[object]) -> dict[Any, Any]:
    return {name: parser for name, parser in parsers.items() if name in names}


class _Parser(ClickHouseParser):
    """A parser that keeps the names of functions, and reads a token only so often."""

    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = _only(ClickHouseParser.FUNCTION_PARSERS, {"CAST"})
    NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = _only(
        ClickHouseParser.NO_PAREN_FUNCTION_PARSERS, {"CASE"}
    )

    def reset(self) -> None:
        super().reset()
        self._reads_left = _READS_OF_A_TOKEN * TOKENS_MAX

    def _advance(self, times: int = 1) -> None:
        self._reads_left -= 1
        if self._reads_left < 0:
            raise Refused("The query is too long.")
        super()._advance(times)

    def _parse_function(self, *options: Any, **named: Any) -> exp.Expr | None:
        """Parse a call, whose aggregate may have parameters in front: `quantile(0.9)(x)`."""
        call: exp.Expr | None = base.Parser._parse_function(self, *options, **named)
        if not isinstance(call, exp.Anonymous) or self._curr.token_type != TokenType.L_PAREN:
            return call
        values = self._parse_func_params(call)
        aggregate = exp.ParameterizedAgg(
            this=call.this, expressions=call.expressions, params=values
        )
        aggregate.meta.update(call.meta)
        windowed: exp.Expr | None = self._parse_window(aggregate)
        return windowed

    def _parse_query_parameter(self) -> exp.Expr | None:
        """Parse `{name}` or `{name.part}`, which stands for a value of the request."""
        names = [self._placeholder_name()]
        while self._match(TokenType.DOT):
            names.append(self._placeholder_name())
        if not self._match(TokenType.R_BRACE):
            self.raise_error("Expecting }")
        found = exp.Placeholder(this=".".join(names))
        return found.update_positions(self._prev)

    def _placeholder_name(self) -> str:
        token: Token | None = self._advance_any()
        if token is None:
            self.raise_error("Expecting a name")
            return ""
        return token.text


class Dialect(ClickHouse):
    INDEX_OFFSET = 0
    Tokenizer = _Tokenizer
    Parser = _Parser


_DIALECT: Final = Dialect()


def parse_query(text: str) -> exp.Query:
    """Parse a whole SELECT, or several that are joined by UNION.

    Raises:
        Refused: The text is not that, or it is too long or too deep.
    """
    tokens = _tokens(text)
    if tokens[0].token_type not in _FIRST:
        raise Refused("The query must be one SELECT.", Place(tokens[0].start))
    return _parsed(text, tokens)


def parse_expression(text: str, field: str) -> exp.Expr:
    """Parse an expression, such as one of `select` or a condition of `where`.

    Args:
        field: The field of the request that has the text.

    Raises:
        Refused: The text is not a single expression, or it is too long or too deep.
    """
    return _single(text, "SELECT ", "expressions", field)


def count_tokens(text: str) -> int:
    """Return the number of words and signs.

    Raises:
        Refused: The text is empty, too long or too deep.
    """
    return len(_tokens(text))


def parse_order(text: str, field: str) -> exp.Expr:
    """Parse an expression with its direction.

    Args:
        field: The field of the request that has the text.

    Raises:
        Refused: The text is not a single one, or it is too long or too deep.
    """
    return _single(text, "SELECT 1 ORDER BY ", "order", field)


def _single(text: str, before: str, part: str, field: str) -> exp.Expr:
    """Return the only expression that a part of a SELECT has, with the places of `text`."""

    def place(start: int) -> Place:
        return Place(max(start - len(before), 0), field)

    try:
        query = _parsed(before + text, _tokens(text, before))
    except Refused as refused:
        start = 0 if refused.place is None else refused.place.start
        raise Refused(refused.detail, place(start)) from None
    given = {name for name, value in query.args.items() if value}
    found = query.args.get(part)
    listed: list[exp.Expr] = found.expressions if isinstance(found, exp.Order) else found or []
    if given - {part, "expressions"} or len(query.expressions) != 1 or len(listed) != 1:
        raise Refused("This must be one expression.", place(0))
    for node in listed[0].walk():
        node.meta["field"] = field
        if "start" in node.meta:
            node.meta["start"] = place(node.meta["start"]).start
    return listed[0]


def _tokens(text: str, before: str = "") -> list[Token]:
    if len(text.encode("utf-8", "replace")) > TEXT_BYTES_MAX:
        raise Refused(f"The query is longer than {TEXT_BYTES_MAX // 2**10} KiB.")
    try:
        tokens = _Tokenizer(dialect=_DIALECT).tokenize(before + text)
    except SqlglotError:
        raise Refused("A quoted text or a comment of the query does not end.") from None
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise Refused("The query is empty.")
    if len(tokens) > TOKENS_MAX:
        raise Refused(f"The query has more than {TOKENS_MAX} words and signs.")
    _check_depth(tokens)
    return list(_with_cohorts(tokens))


def _check_depth(tokens: list[Token]) -> None:
    depth = 0
    for token in tokens:
        if token.token_type in _DEEPER:
            depth += 1
            if depth > DEPTH_MAX:
                raise TooDeep(Place(token.start))
        elif token.token_type in _SHALLOWER:
            depth -= 1
        elif token.token_type == TokenType.SEMICOLON:
            raise Refused("Only one query can be asked at once.", Place(token.start))


def _with_cohorts(tokens: list[Token]) -> list[Token]:
    """Write `IN COHORT 3` as a call, which the parser can read."""
    found: list[Token] = []
    for index, token in enumerate(tokens):
        is_named = index > 1 and _is_cohort(tokens[index - 1]) and _is_value(token)
        if is_named and tokens[index - 2].token_type == TokenType.IN:
            word = found.pop()
            place = (word.line, word.col, word.start, word.end)
            found.append(Token(TokenType.IDENTIFIER, COHORT, *place))
            found.append(Token(TokenType.L_PAREN, "(", *place))
            found.append(token)
            found.append(Token(TokenType.R_PAREN, ")", *place))
        else:
            found.append(token)
    return found


def _is_cohort(token: Token) -> bool:
    return token.token_type == TokenType.VAR and token.text.lower() == "cohort"


def _is_value(token: Token) -> bool:
    return token.token_type in (TokenType.NUMBER, TokenType.STRING)


def _parsed(text: str, tokens: list[Token]) -> exp.Query:
    parser = _Parser(dialect=_DIALECT)
    try:
        trees = parser.parse(tokens, text)
    except SqlglotError as error:
        raise _syntax_error(error, text) from None
    except RecursionError:
        raise TooDeep from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        # The parser raises errors of other types for some texts that are not SQL.
        raise Refused("The query is not valid SQL.") from None
    [tree] = trees or [None]
    while isinstance(tree, exp.Subquery) and not _more_than_this(tree):
        tree = tree.this
    if not isinstance(tree, exp.Select | exp.Union):
        raise Refused("The query must be one SELECT.", Place(0))
    return tree


def _more_than_this(tree: exp.Expr) -> bool:
    return any(value for name, value in tree.args.items() if name != "this")


def _syntax_error(error: SqlglotError, text: str) -> Refused:
    found: list[dict[str, Any]] = getattr(error, "errors", [])
    if not found or not found[0].get("line"):
        return Refused("The query is not valid SQL.")
    place = found[0]
    word = str(place.get("highlight") or "")
    lines = text.split("\n")
    before = sum(len(line) + 1 for line in lines[: place["line"] - 1])
    offset = min(max(before + place["col"] - len(word), 0), len(text))
    near = f' at "{word[:40]}"' if word and len(word) <= len(text) else ""
    return Refused(f"The query cannot be read{near}.", Place(offset))


def place_of(node: exp.Expr) -> Place | None:
    """Return the first character of a node, None if it is not known."""
    for part in node.walk():
        if "start" in part.meta:
            return Place(part.meta["start"], part.meta.get("field", ""))
    return Place(0, node.meta["field"]) if "field" in node.meta else None
