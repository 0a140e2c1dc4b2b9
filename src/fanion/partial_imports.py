"""Libraries that are loaded without parts of others that nothing here uses.

Each process saves 10 MB by it, and a sixth of the time that its imports take.
"""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:  # loading it takes 1 MB
    from importlib.abc import Loader


class _Placeholder(ModuleType):
    """A module in which every name is None."""

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)


# By the module that loads it, what is left out. None makes an optional library seem missing.
_LEFT_OUT: Final[dict[str, dict[str, ModuleType | None]]] = {
    # It draws tracebacks for terminals.
    "structlog": {"rich": None},
    # It has a command line, which loads rich too.
    "httpx": {"click": None},
    # They load the ORM.
    "sqlalchemy.ext.asyncio": {
        name: _Placeholder(name)
        for name in ("sqlalchemy.ext.asyncio.scoping", "sqlalchemy.ext.asyncio.session")
    },
}


class _PartialLoader:
    """A loader that hides modules while another one loads."""

    def __init__(self, loader: "Loader", hidden: dict[str, ModuleType | None]) -> None:
        self._loader = loader
        self._hidden = hidden

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__loader__ = module.__spec__.loader = self._loader
        hidden = {name: here for name, here in self._hidden.items() if name not in sys.modules}
        # The interpreter takes None for a module that cannot be imported.
        cast("dict[str, ModuleType | None]", sys.modules).update(hidden)
        try:
            self._loader.exec_module(module)
        finally:
            for name in hidden:
                del sys.modules[name]


class _PartialFinder:
    """A finder of the libraries above; afterwards what was hidden can be imported as usual."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in _LEFT_OUT:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Loader", _PartialLoader(spec.loader, _LEFT_OUT[name]))
        return spec


def load_partially() -> None:
    """Load these libraries in part from now on, in this process."""
    sys.meta_path.insert(0, _PartialFinder())
