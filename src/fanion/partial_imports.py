"""Loads libraries without dependencies of theirs that Fanion never uses.

This saves each process 10 MB, and a sixth of its import time.
"""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:  # importing it costs 1 MB
    from importlib.abc import Loader


class _Placeholder(ModuleType):
    """A module whose attributes are all None."""

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)


# Importing module → modules left out. None makes an optional library look uninstalled.
_LEFT_OUT: Final[dict[str, dict[str, ModuleType | None]]] = {
    # Only used for tracebacks on terminals.
    "structlog": {"rich": None},
    # Only used for its command line, which also loads rich.
    "httpx": {"click": None},
    # Only used for data frames; where pip has chosen the packages, it is installed.
    "chdb.state.sqlitelike": {"pyarrow": None},
    # These load the ORM.
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
        # A None entry makes an import raise ImportError.
        cast("dict[str, ModuleType | None]", sys.modules).update(hidden)
        try:
            self._loader.exec_module(module)
        finally:
            for name in hidden:
                del sys.modules[name]


class _PartialFinder:
    """A finder for the libraries above. Once loaded, the hidden modules can be imported again."""

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
    """From now on, load these libraries partially in this process."""
    sys.meta_path.insert(0, _PartialFinder())
