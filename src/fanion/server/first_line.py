"""What the first line of a request asks for."""


def path_of(request: bytes) -> str:
    """Before anything of it is parsed.

    request: its beginning, with the whole first line; what it names need not be a path
    """
    start = request.find(b" ") + 1
    target = request[start : request.find(b" ", start)]
    query = target.find(b"?")
    return (target if query < 0 else target[:query]).decode("latin-1")
