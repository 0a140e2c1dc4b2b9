"""The command `fanion`, also as `python -m fanion`."""

import gc
import os
import sys

# Of files that this process and those that it starts make: 0600, and of folders: 0700.
UMASK = 0o077


def main() -> None:
    os.umask(UMASK)
    if sys.argv[1:2] == ["serve"]:
        # What is loaded stays: looking through it for garbage was a seventh of the time it took.
        gc.disable()
        from fanion.cli.serve import app
    else:
        from fanion.cli.app import app
    app()


if __name__ == "__main__":
    main()
