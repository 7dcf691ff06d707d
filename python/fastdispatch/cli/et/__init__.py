"""``fastdispatch et``: execution traces of PyTorch and Chakra."""
