"""Errors that DeepSpeed's users know: the same texts, caught as the same exceptions or as ours."""

from __future__ import annotations

from fastdispatch._core import Error


class PipelineRuntimeError(Error, RuntimeError):
    """A ``RuntimeError`` of DeepSpeed's, in its words."""


class PipelineNotImplementedError(Error, NotImplementedError):
    """A ``NotImplementedError`` of DeepSpeed's, in its words."""
