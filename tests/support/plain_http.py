"""httpx for servers on loopback, which speak no TLS: each client of its own making reads all
certificates first, and that takes fifty times as long as the request."""

from functools import partial

import httpx

get = partial(httpx.get, verify=False)
post = partial(httpx.post, verify=False)
patch = partial(httpx.patch, verify=False)
Client = partial(httpx.Client, verify=False)
AsyncClient = partial(httpx.AsyncClient, verify=False)
