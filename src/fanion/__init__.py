"""Fanion: product analytics and feature flags that PostHog SDKs talk to unchanged."""

__version__ = "0.11.0"
