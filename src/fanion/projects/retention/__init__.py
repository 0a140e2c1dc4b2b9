"""How long a project keeps its events."""
