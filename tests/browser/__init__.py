"""The page of ``fastdispatch html`` in a real browser."""
