"""The httpx clients for servers on loopback, which speak no TLS.

An ordinary client first reads all certificates, which takes fifty times as long as the request. A
request waits for as long as a busy machine may pause, unless a test sets a timeout.
"""

from functools import partial

import httpx

TIMEOUT_S = 60

get = partial(httpx.get, verify=False, timeout=TIMEOUT_S)
post = partial(httpx.post, verify=False, timeout=TIMEOUT_S)
patch = partial(httpx.patch, verify=False, timeout=TIMEOUT_S)
Client = partial(httpx.Client, verify=False, timeout=TIMEOUT_S)
AsyncClient = partial(httpx.AsyncClient, verify=False, timeout=TIMEOUT_S)
