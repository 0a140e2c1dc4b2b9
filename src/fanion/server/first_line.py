"""What the first line of a request asks for."""


def path_of(request: bytes) -> str:
    """As `RequestHead.path`, before anything is parsed: two processes must agree on it.

    request: its beginning, with the whole first line; what it names need not be a path
    """
    request = request.lstrip(b"\r\n")
    start = request.find(b" ") + 1
    target = request[start : request.find(b" ", start)]
    path = target.partition(b"?")[0]
    if path[:1] != b"/" and b"://" in path:
        path = b"/" + path.partition(b"://")[2].partition(b"/")[2]
    return path.decode("latin-1")
