"""What the first line of a request says, before anything of it is parsed."""


def path_of(request: bytes) -> str:
    """request: its beginning, with the whole first line; "" for a target that is no path"""
    start = request.find(b" ") + 1
    target = request[start : request.find(b" ", start)]
    query = target.find(b"?")
    return (target if query < 0 else target[:query]).decode("latin-1")
