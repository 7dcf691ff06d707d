"""The page of ``fastdispatch html`` in the browser that people have."""
