"""The key of a frame, by the rule of the documentation: ``file:[Class]:function`` with the runtime class."""

from types import CodeType, FrameType

from fastdispatch.record.environment import prefixes

_FRAMEWORKS = ("megatron", "deepspeed", "torchtitan", "torch", "transformers")


class Keys:
    """Keys of frames. Looks up the folders of this process once."""

    def __init__(self) -> None:
        self._prefixes = sorted(((p.rstrip("/") + "/", kind) for p, kind in prefixes()), key=lambda x: -len(x[0]))

    def file(self, path: str) -> str:
        if path.startswith("<"):
            return path
        for prefix, kind in self._prefixes:
            if path.startswith(prefix):
                rest = path[len(prefix) :]
                return rest if kind != 0 else self._in_framework(path) or rest
        return self._in_framework(path) or "/".join(path.split("/")[-2:])

    @staticmethod
    def _in_framework(path: str) -> str | None:
        for name in _FRAMEWORKS:
            at = path.find(f"/{name}/")
            if at >= 0:
                return path[at + 1 :]
        return None

    def key(self, frame: FrameType) -> str:
        code = frame.f_code
        return f"{self.file(code.co_filename)}:[{class_name(frame)}]:{code.co_name}"


def parameters(code: CodeType) -> tuple[str, ...]:
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return code.co_varnames[:count]


def class_name(frame: FrameType) -> str:
    code, values = frame.f_code, frame.f_locals
    names = parameters(code)
    for name, is_class in (("self", False), ("cls", True)):
        if name in names or name in code.co_freevars:
            value = values.get(name)
            if value is None and name not in values:
                return ""
            if not is_class:
                return type(value).__name__
            return value.__name__ if isinstance(value, type) else ""
    return first_parameter_class(code, values)


def first_parameter_class(code: CodeType, values: dict[str, object]) -> str:
    """The class of a first parameter of another name, if it occurs in the qualified name, else ""."""
    owner, dot, _ = code.co_qualname.rpartition(".")
    owner = owner.rpartition(".")[2]
    if not dot or not owner or owner.endswith(">") or code.co_argcount == 0 or code.co_varnames[0] not in values:
        return ""
    kind = type(values[code.co_varnames[0]])
    return kind.__name__ if any(base.__name__ == owner for base in kind.__mro__) else ""
