"""The output of JavaScript's `LZString.compressToBase64`."""

import string
from struct import unpack

_BASE64 = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"


def compress_to_base64(text: str) -> bytes:
    raw = text.encode("utf-16-le")
    bits = _Bits()
    codes: dict[str, int] = {}
    unwritten: set[str] = set()
    word = ""
    for unit in map(chr, unpack(f"<{len(raw) // 2}H", raw)):
        if unit not in codes:
            codes[unit] = len(codes) + 3
            unwritten.add(unit)
        if word + unit in codes:
            word += unit
            continue
        bits.put_word(word, codes, unwritten)
        codes[word + unit] = len(codes) + 3
        word = unit
    bits.put_word(word, codes, unwritten)
    bits.put(2, bits.width)
    return bits.base64()


class _Bits:
    """The bits of the output.

    Attributes:
        width: The width of the next code, which grows with the number of codes.
    """

    def __init__(self) -> None:
        self.width = 2
        self._left = 2
        self._bits: list[int] = []

    def put(self, value: int, width: int) -> None:
        self._bits += [value >> position & 1 for position in range(width)]

    def put_word(self, word: str, codes: dict[str, int], unwritten: set[str]) -> None:
        if word in unwritten:
            unwritten.discard(word)
            wide = ord(word) > 255
            self.put(int(wide), self.width)
            self.put(ord(word), 16 if wide else 8)
            self._grow()
        elif word:
            self.put(codes[word], self.width)
        if word:
            self._grow()

    def base64(self) -> bytes:
        bits = self._bits + [0] * (6 - len(self._bits) % 6)
        sixes = ("".join(map(str, bits[at : at + 6])) for at in range(0, len(bits), 6))
        text = "".join(_BASE64[int(six, 2)] for six in sixes)
        return (text + "=" * (-len(text) % 4)).encode()

    def _grow(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._left = 1 << self.width
            self.width += 1
