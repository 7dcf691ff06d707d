"""Errors with the texts and exception types of DeepSpeed, also caught as our own."""

from fastdispatch._core import Error


class PipelineRuntimeError(Error, RuntimeError):
    """A ``RuntimeError`` of DeepSpeed, with its text."""


class PipelineNotImplementedError(Error, NotImplementedError):
    """A ``NotImplementedError`` of DeepSpeed, with its text."""
