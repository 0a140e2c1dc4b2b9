"""Which flags a client is told, where some are meant for certain runtimes or contexts only.

source: sdk-wire.md section 4.1
"""

from fanion.flags.engine.definition import ANYWHERE, Flag
from fanion.flags.engine.flag_set import FlagSet
from fanion.flags.evaluation.request import FlagRequest


def visible_keys(flag_set: FlagSet, asked: FlagRequest) -> tuple[str, ...] | None:
    """Keys of the flags to evaluate; None for all.

    A client that names no context, or no runtime, is told the flags of every one.
    """
    if not flag_set.limited or not (asked.contexts or asked.runtime):
        return asked.keys
    flags = flag_set.flags
    wanted = flags if asked.keys is None else asked.keys
    return tuple(key for key in wanted if key in flags and _is_for(flags[key], asked))


def _is_for(flag: Flag, asked: FlagRequest) -> bool:
    in_runtime = not asked.runtime or flag.runtime in (ANYWHERE, asked.runtime)
    in_context = not asked.contexts or not flag.contexts or bool(flag.contexts & asked.contexts)
    return in_runtime and in_context
