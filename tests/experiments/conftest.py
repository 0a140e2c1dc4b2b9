"""The analyst who stores histories, as for insights."""

from tests.insights.conftest import analyst

__all__ = ["analyst"]
