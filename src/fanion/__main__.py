"""The command `fanion`, also as `python -m fanion`."""

import gc
import os
import sys

# Files that this process and its children create get mode 0600, and folders 0700.
UMASK = 0o077


def main() -> None:
    os.umask(UMASK)
    if sys.argv[1:2] == ["serve"]:
        # What is loaded stays in memory, and garbage collection took a seventh of the loading time.
        gc.disable()
        from fanion.cli.serve.server import plain_options, serve

        options = plain_options(sys.argv[2:])
        if options is not None:
            serve(**options)
            sys.exit()  # exits the way Typer does
        from fanion.cli.serve.command import app
    else:
        from fanion.cli.commands import load_commands

        app = load_commands(sys.argv[1:])
    app()


if __name__ == "__main__":
    main()
