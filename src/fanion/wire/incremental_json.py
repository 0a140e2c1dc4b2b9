"""The parser of large JSON texts, one window at a time, so that no call holds the GIL long.

A pattern finds the longest run of whole values within the window; msgspec decodes the run. A value
that does not fit into a window is entered: its own elements or members are read in runs. The
pattern accepts more than JSON; the decoder refuses the rest.
"""

import re
from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import Any

import msgspec

from fanion.errors import DecodedTooLarge, InvalidPayload, malformed
from fanion.wire.decoding import parse_json, with_stack_to_spare

# A window is decoded in 1 to 3 ms, or twice that if the run has to be read tolerantly.
WINDOW_BYTES = 32 * 1024
# The window of the pattern, which takes 25 times as long for a byte as the decoder. The decoder
# finds the end of a larger value, or else that it has to be entered.
_PATTERN_WINDOW_BYTES = 2 * 1024
# The most memory that one body may take as Python objects. Freeing that much takes about 15 ms.
DECODED_BYTES_MAX = 64 * 1024 * 1024
# The most containers that may be entered. The rest of Python's 1,000 frames is for callers that
# read the value again from a deeper stack.
ENTERED_MAX = 900
# The levels of nesting that the pattern matches. Deeper values are read one at a time.
_PATTERN_LEVELS = 8
_FRAMES_TO_SPARE = 40

# The size of an element or member, and of an object or array: upper bounds, measured on CPython
# 3.11.
_VALUE_BYTES, _OBJECT_BYTES, _ARRAY_BYTES = 100, 250, 80
_WIDE_CHARACTER_BYTES = 4

# Only single characters are repeated possessively: Python before 3.11.5 matches too little with a
# possessive or atomic group (gh-106052). Backtracking is linear: the first character of a group
# tells which alternative it takes, and what may follow the group begins none of them.
_WS = rb"[ \t\r\n]*+"
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*"'
_SCALAR = rb'[^"{}\[\],:\s]++'


def _nested_pattern(levels: int) -> bytes:
    inner = rb'[^"{}\[\]]++|' + _STRING
    if levels > 1:
        inner += rb"|" + _nested_pattern(levels - 1)
    return rb"[{\[](?:" + inner + rb")*[}\]]"


_VALUE = rb"(?:" + _STRING + rb"|" + _SCALAR + rb"|" + _nested_pattern(_PATTERN_LEVELS) + rb")"


def _run_of(value: bytes, end: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"(?:" + _WS + value + _WS + rb"(?:,|(?=" + end + rb")))*", re.DOTALL)


_ELEMENTS = _run_of(_VALUE, rb"\]")
_MEMBERS = _run_of(_STRING + _WS + rb":" + _WS + _VALUE, rb"}")
_BLANKS = re.compile(_WS)
_ONE_SCALAR = re.compile(_SCALAR)

# The inside of a string in whole units: an escape, or a pair of surrogates, is not cut.
_HEX = rb"[0-9a-fA-F]"
_HIGH = rb"\\u[dD][89abAB]" + _HEX * 2
_CHARACTERS = re.compile(
    rb'(?:[^"\\]++|'
    + (_HIGH + rb"\\u" + _HEX * 4 + rb"|")
    + (_HIGH + rb"(?=[^\\]|\\[^u])|")
    + (rb"\\u(?![dD][89abAB])" + _HEX * 4 + rb"|")
    + rb"\\[^u])*",
    re.DOTALL,
)
# The last character before a cut if it may be incomplete: UTF-8, or a surrogate in it.
_UNFINISHED = re.compile(rb"(?:\xed[\xa0-\xaf][\x80-\xbf])?[\xc0-\xff][\x80-\xbf]{0,3}\Z")
_UNFINISHED_BYTES_MAX = 7

_TRAILING = "trailing characters (byte "
_OPENING = {ord("{"): ord("}"), ord("["): ord("]")}
_BETWEEN_OBJECTS = (b"},{", b"}, {")
_QUOTE, _COMMA, _COLON, _OBJECT = ord('"'), ord(","), ord(":"), ord("{")

_decode = msgspec.json.Decoder().decode
_skip = msgspec.json.Decoder(msgspec.Raw).decode


class Kind(Enum):
    """The kinds of pieces that the parser yields.

    Attributes:
        OPEN: An object or array that is entered; comes with {} or [].
        RUN: Some of its members or elements, as a dict or list.
        COUNTED: The number of some of its elements, which are not decoded.
        KEY: The key of the member whose value comes next.
        VALUE: A value, decoded whole.
        CLOSE: The end of the container that was opened last.
    """

    OPEN = auto()
    RUN = auto()
    COUNTED = auto()
    KEY = auto()
    VALUE = auto()
    CLOSE = auto()


Piece = tuple[Kind, Any]


class PullParser:
    """A parser that yields the pieces of one JSON value, in order.

    Attributes:
        is_clean: Whether msgspec has decoded everything so far.
        cost: Estimated bytes of everything decoded so far, as Python objects.
        position: The start of the container that was opened last.
    """

    def __init__(
        self,
        data: bytes,
        start: int = 0,
        *,
        strict: bool = False,
        window_bytes: int = WINDOW_BYTES,
    ) -> None:
        """Prepare to parse.

        Args:
            start: The position of an object or array within data, which is then read only to its
                end.
            strict: Whether to refuse JSON that msgspec does not decode.
        """
        self.is_clean = True
        self.cost = 0
        self.position = start
        self._data = data
        self._start = start
        self._strict = strict
        self._window = window_bytes
        self._pattern_window = min(window_bytes, _PATTERN_WINDOW_BYTES)
        self._unusual_until = 0
        self._entered: list[int] = []  # the closing brackets
        self._count: Callable[[bytes], int] | None = None
        self._counted_at = 0  # the depth of the array whose elements are counted

    def count_elements(self, count: Callable[[bytes], int]) -> None:
        """Count the remaining elements of the array that was opened last, where that is possible.

        Args:
            count: Returns the number of elements of an array, given as JSON, or raises a
                MsgspecError for elements that have to be decoded.
        """
        if self._count is None:
            self._count, self._counted_at = count, len(self._entered)

    def __iter__(self) -> Iterator[Piece]:
        """Yield the pieces.

        Raises:
            InvalidPayload: The text is not JSON.
        """
        at = self._blanks(self._start)
        if self._at(at) in _OPENING:
            yield self._open(at)
            at += 1
            is_first, wants_value = True, True
            while self._entered:
                at = self._blanks(at)
                character = self._at(at)
                if character == self._entered[-1] and (is_first or not wants_value):
                    self._entered.pop()
                    at += 1
                    is_first = wants_value = False
                    yield Kind.CLOSE, None
                elif not wants_value:
                    self._expect(at, _COMMA)
                    at += 1
                    wants_value = True
                else:
                    is_first = False
                    run, end = self._usual_run(at)
                    if run is None and (end := self._end_of_run(at)) > at:
                        wants_value = self._data[end - 1] == _COMMA
                        run = Kind.RUN, self._run(at, end - wants_value)
                    if run is not None:
                        yield run
                        at = end
                        continue
                    if self._entered[-1] == _OPENING[_OBJECT]:
                        key, at = self._key(at)
                        yield Kind.KEY, key
                    opening = self._at(at) in _OPENING
                    if opening and (end := self._end_of_small(at)) == at:
                        yield self._open(at)
                        at, is_first, wants_value = at + 1, True, True
                        continue
                    wants_value = False
                    if opening:
                        yield Kind.VALUE, self._read(self._data[at:end])
                        at = end
                    else:
                        value, at = self._value(at)
                        yield Kind.VALUE, value
        else:
            value, at = self._value(at)
            yield Kind.VALUE, value
        if self._start == 0 and self._blanks(at) != len(self._data):
            raise self._unreadable(at)

    def _at(self, at: int) -> int:
        if at >= len(self._data):
            raise malformed("the JSON text ends too early.")
        return self._data[at]

    def _expect(self, at: int, character: int) -> None:
        if self._at(at) != character:
            raise self._unreadable(at)

    def _blanks(self, at: int) -> int:
        """Return the position after white space."""
        while True:
            end = _BLANKS.match(self._data, at, at + self._window).end()  # type: ignore[union-attr]
            if end < at + self._window:
                return end
            at = end

    def _open(self, at: int) -> Piece:
        if len(self._entered) >= ENTERED_MAX:
            raise malformed("nested too deeply.")
        self.position = at
        self._entered.append(_OPENING[self._data[at]])
        self.cost += _OBJECT_BYTES
        return Kind.OPEN, {} if self._data[at] == _OBJECT else []

    def _usual_run(self, at: int) -> tuple[Piece | None, int]:
        """Return a run of objects, decoded or counted, and its end.

        The run ends at the last position in the window that looks like the end of an object. The
        decoder verifies it, in a fifth of the time that the pattern takes.
        """
        end = at + self._window
        is_object = self._entered[-1] == _OPENING[_OBJECT]
        if is_object or at < self._unusual_until:
            return None, at
        self._unusual_until = end  # tried once per position, or the time would be quadratic
        comma = 1 + max(self._data.rfind(glue, at, end) for glue in _BETWEEN_OBJECTS)
        if comma <= at:
            return None, at
        run = b"[" + self._data[at:comma] + b"]"
        piece = self._counted(run) or self._decoded(run)
        if piece is None:
            return None, at
        self._unusual_until = at
        return piece, comma + 1

    def _counted(self, run: bytes) -> Piece | None:
        if self._count is None or self._counted_at != len(self._entered):
            return None
        try:
            frames = _FRAMES_TO_SPARE + len(self._entered)
            return Kind.COUNTED, with_stack_to_spare(self._count, run, frames)
        except (msgspec.MsgspecError, RecursionError):
            return None

    def _decoded(self, run: bytes) -> Piece | None:
        try:
            value = self._strictly(run, _FRAMES_TO_SPARE + len(self._entered))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        self.cost += decoded_bytes(run)
        return Kind.RUN, value

    def _end_of_run(self, at: int) -> int:
        pattern = _MEMBERS if self._entered[-1] == _OPENING[_OBJECT] else _ELEMENTS
        end = at + self._pattern_window
        return pattern.match(self._data, at, end).end()  # type: ignore[union-attr]

    def _run(self, at: int, end: int) -> Any:
        run = self._data[at:end]
        if self._entered[-1] == _OPENING[_OBJECT]:
            return self._read(b"{" + run + b"}")
        return self._read(b"[" + run + b"]")

    def _end_of_small(self, at: int) -> int:
        """Return the end of an object or array that fits into a window, or `at` if it does not.

        Such a value is nested too deeply for the pattern. The decoder reports where it ends.
        """
        window = memoryview(self._data)[at : at + self._window]
        try:
            _skip(window)
        except (msgspec.MsgspecError, RecursionError) as error:
            _, separator, rest = str(error).partition(_TRAILING)
            # The decoder has already read the character that it names.
            return at + int(rest.rstrip(")")) - 1 if separator else at
        return at + len(window)

    def _key(self, at: int) -> tuple[str, int]:
        """Return the key, and the position of its value."""
        self._expect(at, _QUOTE)
        key, at = self._string(at)
        at = self._blanks(at)
        self._expect(at, _COLON)
        return key, self._blanks(at + 1)

    def _value(self, at: int) -> tuple[Any, int]:
        """Return a string, number or constant, and its end."""
        if self._at(at) == _QUOTE:
            return self._string(at)
        match = _ONE_SCALAR.match(self._data, at, at + self._window)
        if match is None or match.end() == at + self._window:
            raise self._unreadable(at)
        return self._read(self._data[at : match.end()]), match.end()

    def _string(self, at: int) -> tuple[str, int]:
        """Return a string of any length, and its end."""
        data, parts, at = self._data, list[str](), at + 1
        while True:
            cut = at + self._window
            end = _CHARACTERS.match(data, at, cut).end()  # type: ignore[union-attr]
            is_whole = self._at(end) == _QUOTE
            if not is_whole:
                within = data[max(at, end - _UNFINISHED_BYTES_MAX) : end]
                if unfinished := _UNFINISHED.search(within):
                    end -= len(within) - unfinished.start()
                if end <= at:
                    raise self._unreadable(at)
            parts.append(self._read(b'"' + data[at:end] + b'"'))
            if is_whole:
                return "".join(parts), end + 1
            at = end

    def _read(self, text: bytes) -> Any:
        self.cost += decoded_bytes(text)
        entered = len(self._entered)
        is_shallow = entered + len(text) // 2 < ENTERED_MAX // 2  # two characters a level
        try:
            return self._strictly(text, 0 if is_shallow else _FRAMES_TO_SPARE + entered)
        except RecursionError:
            raise malformed("nested too deeply.") from None
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            if self._strict:
                raise malformed(str(error)) from None
        self.is_clean = False
        return with_stack_to_spare(parse_json, text, _FRAMES_TO_SPARE + entered)

    def _strictly(self, text: bytes, frames: int) -> Any:
        """Decode on a deeper stack: entered containers count as nesting."""
        return self._strictly(text, frames - 1) if frames > 0 else _decode(text)

    def _unreadable(self, at: int) -> InvalidPayload:
        return malformed(f"the JSON text is malformed at byte {at}.")


def parse_large_json(
    data: bytes,
    bytes_max: int = DECODED_BYTES_MAX,
    *,
    strict: bool = False,
    window_bytes: int = WINDOW_BYTES,
) -> Any:
    """Parse a large text like `parse_json`.

    Raises:
        InvalidPayload: The text is not JSON.
        DecodedTooLarge: The value takes more than `bytes_max` of memory.
    """
    parser = PullParser(data, strict=strict, window_bytes=window_bytes)
    pieces = iter(parser)
    kind, value = next(pieces)
    if kind is Kind.OPEN:
        value = build_container(parser, pieces, value, bytes_max)
    for _ in pieces:  # raises for trailing data
        pass
    return value


def build_container(parser: PullParser, pieces: Iterator[Piece], whole: Any, bytes_max: int) -> Any:
    """Read the container that was just opened.

    Raises:
        InvalidPayload: The text is not JSON.
        DecodedTooLarge: The value takes more than `bytes_max` of memory.
    """
    cost_max = parser.cost + bytes_max
    into, key = [whole], ""
    for kind, value in pieces:
        if parser.cost > cost_max:
            raise DecodedTooLarge(bytes_max)
        if kind is Kind.KEY:
            key = value
        elif kind is Kind.CLOSE:
            into.pop()
            if not into:
                break
        elif kind is Kind.RUN:
            if isinstance(value, dict):
                into[-1].update(value)
            else:
                into[-1].extend(value)
        else:
            if isinstance(into[-1], dict):
                into[-1][key] = value
            else:
                into[-1].append(value)
            if kind is Kind.OPEN:
                into.append(value)
    return whole


def decoded_bytes(text: bytes) -> int:
    """Estimate the memory that `text` takes as Python objects, rather too high than too low."""
    values = text.count(b",") + text.count(b":") + 1
    wide = 1 if text.isascii() else _WIDE_CHARACTER_BYTES
    containers = text.count(b"{") * _OBJECT_BYTES + text.count(b"[") * _ARRAY_BYTES
    return values * _VALUE_BYTES + containers + len(text) * wide
