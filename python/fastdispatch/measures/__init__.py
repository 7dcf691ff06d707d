"""Measured figures by call path: FLOPs, memory, communication, shapes."""
