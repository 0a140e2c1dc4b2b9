"""The command `fanion`, also as `python -m fanion`."""

import sys


def main() -> None:
    if sys.argv[1:2] == ["serve"]:
        from fanion.cli_serve import app
    else:
        from fanion.cli import app
    app()


if __name__ == "__main__":
    main()
