"""The call graph as a picture and as lists."""
