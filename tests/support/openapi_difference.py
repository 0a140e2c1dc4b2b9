"""The comparison of two OpenAPI documents as a client sees them.

    python -m tests.support.openapi_difference BEFORE.json AFTER.json

Prints every difference with its path. Ignored, because no request and no response depends on it:
names of components (a reference is replaced by its target, so that a component and the same schema
written in place are equal), `operationId`, `info.version`, `description`, `summary` and `title`,
the address of the server, the order of lists that are sets, and components to which no operation
refers.

A pair of objects is compared once, at the path where it is met first: a difference in a component
that many operations share is one difference. Exit code: 0 without differences, 1 with any, 2 if a
document cannot be read.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

# Ignored in an object of the specification, but not in one that maps names to such objects.
SET_ASIDE = frozenset({"description", "summary", "title", "operationId"})
# Ignored in the document itself. Paths refer to components; `servers` says where it was fetched.
SET_ASIDE_AT_ROOT = frozenset({"components", "servers"})
# The keywords whose object maps names, which mean something to clients, to objects.
NAME_MAPS = frozenset(
    {"paths", "webhooks", "callbacks", "responses", "headers", "content", "encoding", "links"}
    | {"properties", "patternProperties", "dependentSchemas", "$defs", "variables", "scopes"}
)
# The keywords whose value is data, not a part of the description.
DATA = frozenset({"const", "default", "enum", "example", "examples", "required"})
SETS = frozenset({"enum", "required", "type", "tags", "security", "allOf", "anyOf", "oneOf"})
# The number of references that a digest unfolds. It pairs items of sets; equality does not depend
# on it.
DIGEST_DEPTH = 6
SHOWN_LENGTH = 120

Json = Any
_ABSENT = object()


class Document:
    """One document, and the targets of its references."""

    def __init__(self, root: Mapping[str, Json]) -> None:
        self.root = root
        self._resolved: dict[int, dict[str, Json]] = {}
        self._digests: dict[tuple[int, int], str] = {}

    def resolve(self, node: dict[str, Json]) -> dict[str, Json]:
        """Return the target of a reference.

        It is the same object for the same reference, so that recursion is noticed. Keywords next
        to `$ref` count with those of the component.

        Raises:
            LookupError: There is no target.
        """
        target = self._resolved.get(id(node))
        if target is None:
            target = self._resolved[id(node)] = self._follow(node)
        return target

    def digest(self, node: Json, depth: int = DIGEST_DEPTH, *, is_name_map: bool = False) -> str:
        """Return equal digests for equal schemas.

        Digests of unequal schemas may be equal if they differ only far down.
        """
        if isinstance(node, list):
            return json.dumps(sorted(self.digest(item, depth) for item in node))
        if not isinstance(node, dict):
            return json.dumps(node)
        if "$ref" in node and not is_name_map:
            if not depth:
                return "..."
            depth -= 1
            node = self.resolve(node)
        if (id(node), depth) not in self._digests:
            parts = {
                key: self.digest(child, depth, is_name_map=not is_name_map and key in NAME_MAPS)
                for key, child in (node.items() if is_name_map else keywords(node))
            }
            self._digests[id(node), depth] = str(hash(json.dumps(parts, sort_keys=True)))
        return self._digests[id(node), depth]

    def named(self, parameters: list[dict[str, Json]]) -> dict[str, Json]:
        """Return parameters by what identifies a parameter of an operation."""
        resolved = [self.resolve(parameter) for parameter in parameters]
        return {
            f"{parameter.get('in')}:{parameter.get('name')}": parameter for parameter in resolved
        }

    def requirements(self, security: list[dict[str, list[str]]]) -> list[str]:
        """Return each alternative, with the scheme itself instead of its name."""
        schemes = {
            name: _text(dict(keywords(scheme)))
            for name, scheme in self.root.get("components", {}).get("securitySchemes", {}).items()
        }
        return [
            _text(sorted([schemes[name], scopes] for name, scopes in alternative.items()))
            for alternative in security
        ]

    def _follow(self, node: dict[str, Json]) -> dict[str, Json]:
        visited = [node]
        target = node
        while "$ref" in target:
            target = self._pointed(str(target["$ref"]))
            if any(target is part for part in visited):
                raise LookupError(f"{node['$ref']} refers to nothing but itself")
            visited.append(target)
        siblings = [
            part for part in visited[:-1] if any(key != "$ref" for key, _ in keywords(part))
        ]
        if not siblings:
            return target
        merged = dict(target)
        for part in reversed(siblings):
            merged |= {key: value for key, value in part.items() if key != "$ref"}
        return merged

    def _pointed(self, reference: str) -> dict[str, Json]:
        here, _, pointer = reference.partition("#/")
        if here or not pointer:
            raise LookupError(f"{reference} does not point into this document")
        target: Json = self.root
        for part in pointer.split("/"):
            try:
                target = target[part.replace("~1", "/").replace("~0", "~")]
            except (KeyError, TypeError):
                raise LookupError(f"{reference} points to nothing") from None
        if not isinstance(target, dict):
            raise LookupError(f"{reference} points to nothing that has keywords")
        return target


class Comparison:
    """The walk through two documents at the same time."""

    def __init__(self, before: Document, after: Document) -> None:
        self._before = before
        self._after = after
        self._met: set[tuple[int, int]] = set()

    def differences(self) -> Iterator[str]:
        """Yield lines such as `paths/~1x/get/deprecated: false -> true`, in the order of BEFORE.

        Raises:
            LookupError: A reference has no target.
        """
        before, after = self._before.root, self._after.root
        yield from self._members(_described(before), _described(after), "", None)

    def _nodes(self, before: Json, after: Json, path: str, keyword: str) -> Iterator[str]:
        if before is _ABSENT or after is _ABSENT or type(before) is not type(after):
            yield _line(path, before, after)
        elif keyword in DATA and keyword not in SETS:
            if _text(before) != _text(after):
                yield _line(path, before, after)
        elif isinstance(before, dict):
            if keyword in NAME_MAPS:
                yield from self._members(dict(before), dict(after), path, "")
            else:
                yield from self._objects(before, after, path)
        elif isinstance(before, list):
            yield from self._lists(before, after, path, keyword)
        elif before != after:
            yield _line(path, before, after)

    def _objects(self, before: dict[str, Json], after: dict[str, Json], path: str) -> Iterator[str]:
        before, after = self._before.resolve(before), self._after.resolve(after)
        if (id(before), id(after)) in self._met:
            return
        self._met.add((id(before), id(after)))
        yield from self._members(dict(keywords(before)), dict(keywords(after)), path, None)

    def _members(
        self,
        before: dict[str, Json],
        after: dict[str, Json],
        path: str,
        keyword: str | None,
    ) -> Iterator[str]:
        """Compare the members of two objects.

        Args:
            keyword: None if each key is a keyword itself.
        """
        for key in [*before, *(key for key in after if key not in before)]:
            inner = f"{path}/{key.replace('~', '~0').replace('/', '~1')}".lstrip("/")
            yield from self._nodes(
                before.get(key, _ABSENT),
                after.get(key, _ABSENT),
                inner,
                key if keyword is None else keyword,
            )

    def _lists(
        self, before: list[Json], after: list[Json], path: str, keyword: str
    ) -> Iterator[str]:
        if keyword == "parameters":
            named = self._before.named(before), self._after.named(after)
            yield from self._members(*named, path, "")
            return
        if keyword == "security":
            before, after = self._before.requirements(before), self._after.requirements(after)
        pairs = list(zip(before, after, strict=False))
        left, right = before[len(pairs) :], after[len(pairs) :]
        if keyword in SETS:
            pairs, left, right = self._paired(before, after)
        for at, (item, other) in enumerate(pairs):
            yield from self._nodes(item, other, f"{path}/{at}", "")
        for item in left:
            yield _line(f"{path}/-", item, _ABSENT)
        for other in right:
            yield _line(f"{path}/-", _ABSENT, other)

    def _paired(
        self, before: list[Json], after: list[Json]
    ) -> tuple[list[tuple[Json, Json]], list[Json], list[Json]]:
        """Pair equal items first, then schemas in order, and return the rest of both lists."""
        waiting = list(after)
        digests = [self._after.digest(other) for other in waiting]
        pairs, left = [], []
        for item in before:
            digest = self._before.digest(item)
            if digest in digests:
                at = digests.index(digest)
                digests.pop(at)
                pairs.append((item, waiting.pop(at)))
            else:
                left.append(item)
        while left and waiting and isinstance(left[0], dict) and isinstance(waiting[0], dict):
            pairs.append((left.pop(0), waiting.pop(0)))
        return pairs, left, waiting


def keywords(node: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    return ((key, value) for key, value in node.items() if key not in SET_ASIDE)


def differences(before: Mapping[str, Json], after: Mapping[str, Json]) -> list[str]:
    """Return the differences of two documents.

    Raises:
        LookupError: A reference has no target.
    """
    return list(Comparison(Document(before), Document(after)).differences())


def main() -> int:
    if len(sys.argv) != 3:
        print(
            "usage: python -m tests.support.openapi_difference BEFORE.json AFTER.json",
            file=sys.stderr,
        )
        return 2
    try:
        before, after = (json.loads(Path(name).read_bytes()) for name in sys.argv[1:])
        lines = differences(before, after)
    except (OSError, ValueError, LookupError) as error:
        print(f"cannot compare: {error}", file=sys.stderr)
        return 2
    for line in lines:
        print(line)
    print(f"{len(lines)} differences" if lines else "no difference")
    return 1 if lines else 0


def _described(root: Mapping[str, Json]) -> dict[str, Json]:
    """Return the document without the parts that say nothing to a client."""
    described = {key: value for key, value in root.items() if key not in SET_ASIDE_AT_ROOT}
    info = described.get("info", {})
    described["info"] = {key: value for key, value in info.items() if key != "version"}
    return described


def _line(path: str, before: Json, after: Json) -> str:
    return f"{path}: {_shown(before)} -> {_shown(after)}"


def _shown(value: Json) -> str:
    if value is _ABSENT:
        return "(absent)"
    text = _text(value)
    return text if len(text) <= SHOWN_LENGTH else text[:SHOWN_LENGTH] + "…"


def _text(value: Json) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(main())
