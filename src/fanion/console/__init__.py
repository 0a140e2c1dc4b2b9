"""The endpoints for the web console and posthog-js, both built by `console/build.py`."""
