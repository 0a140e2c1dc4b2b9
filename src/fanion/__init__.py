"""Fanion: product analytics and feature flags that PostHog SDKs talk to unchanged."""

from fanion.partial_imports import load_partially

__version__ = "0.15.0"

load_partially()
