"""Serves what `console/build.py` made: the web console, and posthog-js for pages."""
