"""The readers on a folder of files that other programs wrote."""
