"""User-defined rules: functions of an engine that are jobs of a pipeline."""

from typing import Any

from fastdispatch.record.engine_rules import Role, add_rule


def rule(
    path_suffix: str,
    qualname: str,
    kind: str,
    *,
    mb: str | None = None,
    stage: str | None = None,
    chunk: str | None = None,
    peer: str | None = None,
    buffer: str | None = None,
    bytes: str | None = None,
    when: str | None = None,
) -> None:
    """Record each call of a function as a job, if the timeline has jobs (docs/formats/pipeline-jobs.md).

    ``path_suffix`` is the end of its file's path (``engine/steps.py``), ``qualname`` its ``__qualname__``
    (``Engine.forward``), ``kind`` that of the job: ``F``, ``B``, ``SA``..., any text, two with a plus between them for
    a call that does both, ``ITER`` for a whole batch. The others are sources of numbers: ``arg:NAME`` (a
    parameter), ``attr:NAME`` (of the first parameter), both with further attributes behind points, ``count`` (how many
    of this kind and stage there were in the iteration, or step), or a number. ``when``: the rule applies to calls for
    which this is true (``!arg:NAME``: false). Attributes are read as they are stored; a property gives no number.
    ``bytes`` is a number or names a tensor, or a list of tensors, that the call moves.

    For ``ITER``, ``mb``, ``stage`` and ``chunk`` are the numbers of micro-batches, stages (with chunks) and processes.
    The first matching rule applies, yours before the built-in ones. Raises :class:`fastdispatch.Error` for an invalid
    rule.
    """
    sources = {"mb": mb, "stage": stage, "chunk": chunk, "peer": peer, "buffer": buffer, "bytes": bytes, "when": when}
    texts: dict[str, Any] = {name: _encodable(source) for name, source in sources.items() if source is not None}
    role = Role.ITERATION if kind == "ITER" else Role.JOB
    add_rule(_encodable(path_suffix), _encodable(qualname), _encodable(kind), role=role, **texts)


def _encodable(text: str) -> str:
    """Replace lone surrogates, as the recorder does in names."""
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else text
