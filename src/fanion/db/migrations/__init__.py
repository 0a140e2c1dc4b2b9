"""The records schema, step by step. `python -m fanion.db.migrations "what changed"` adds one."""
