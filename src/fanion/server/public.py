"""Which public path is answered by what.

source: capture.md section 1.1; sdk-wire.md section 12
"""

from fanion.flags.decide import Decide
from fanion.ingest.capture import CaptureEndpoints
from fanion.server.probes import Probes
from fanion.server.routes import Route, Routes

CAPTURE_PATHS = ("/capture", "/batch", "/e", "/i/v0/e", "/track", "/i/v0/ai/batch")
# Products beside this one: their clients hear that all is well, and nothing is stored.
DISCARDED_PATHS = ("/s", "/i/v1/logs", "/i/v1/metrics")


def public_routes(capture: CaptureEndpoints, decide: Decide, probes: Probes) -> Routes:
    table = {path: Route("capture", capture.post) for path in CAPTURE_PATHS}
    table |= {path: Route("discard", capture.discard) for path in DISCARDED_PATHS}
    table |= {
        "/engage": Route("engage", capture.engage),
        "/i/v1/analytics/events": Route("capture_v1", capture.v1),
        "/decide": Route("decide", decide.decide),
        "/flags": Route("flags", decide.flags),
        "/_health": Route("health", probes.health, ("GET", "HEAD"), cors=False),
        "/_ready": Route("ready", probes.ready, ("GET", "HEAD"), cors=False),
        "/metrics": Route("metrics", probes.exposition, ("GET",), cors=False),
    }
    return Routes(table)
