"""Connections to trackers and training loops. Each is imported on its own: ``fastdispatch`` needs none of their
packages."""
