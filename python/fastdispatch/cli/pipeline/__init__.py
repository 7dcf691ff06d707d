"""``fastdispatch pipeline``: plan, profile and analyze pipeline parallelism."""


def spelled(words: list[str]) -> list[str]:
    """Return ``pipeline optimize`` for ``pipeline partition --method pipedream``."""
    if words[:2] != ["pipeline", "partition"]:
        return words
    for at, word in enumerate(words):
        if word == "--method=pipedream":
            return ["pipeline", "optimize", *words[2:at], *words[at + 1 :]]
        if words[at : at + 2] == ["--method", "pipedream"]:
            return ["pipeline", "optimize", *words[2:at], *words[at + 2 :]]
    return words
