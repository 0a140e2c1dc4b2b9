"""The process of a scheduled backup: it gives way to the server, and goes on if that is killed.

Its arguments are the data folder, the destination and what is kept; other settings come from the
environment. The outcome is in the data folder, and its exit code is 0 or 1.
"""

import os
import sys
from pathlib import Path

from fanion.backup.backup_service import make_backup
from fanion.backup.destination import open_destination
from fanion.backup.model import BackupRefused
from fanion.config import read_settings
from fanion.config.backups import read_keep

NICENESS = 10


def main(data: str, to: str, keep: str) -> int:
    os.nice(NICENESS)
    settings = read_settings(os.environ, {"data": Path(data)})
    try:
        make_backup(settings, open_destination(to), read_keep(keep))
    except (BackupRefused, OSError):
        return 1  # the server reads why
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
