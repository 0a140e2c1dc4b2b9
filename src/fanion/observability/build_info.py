"""The commit that this program was made from."""

from contextlib import suppress
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parents[1]
# Written when a package is built; a checkout has none.
COMMIT_FILE: Final = "commit.txt"


def read_commit(package: Path = PACKAGE) -> str:
    """Return the commit of a built package or of a checkout; "" if it is not known."""
    with suppress(OSError):
        return (package / COMMIT_FILE).read_text().strip()
    with suppress(OSError):
        return _commit_of_checkout(package.parents[1])
    return ""


def _commit_of_checkout(root: Path) -> str:
    """Return the commit that is checked out.

    Raises:
        OSError: There is no repository.

    Source: gitrepository-layout(5).
    """
    git = root / ".git"
    if git.is_file():  # a worktree, whose branches lie in the repository
        git = root / git.read_text().removeprefix("gitdir:").strip()
    head = (git / "HEAD").read_text().strip()
    if not head.startswith("ref: "):
        return head
    common = git / "commondir"
    refs = git / common.read_text().strip() if common.exists() else git
    name = head.removeprefix("ref: ")
    loose = refs / name
    return loose.read_text().strip() if loose.exists() else _packed_ref(refs, name)


def _packed_ref(refs: Path, name: str) -> str:
    for line in (refs / "packed-refs").read_text().splitlines():
        commit, _, packed = line.partition(" ")
        if packed == name:
            return commit
    return ""
