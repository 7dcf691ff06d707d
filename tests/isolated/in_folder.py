"""Run ``python`` or ``fastdispatch`` in a folder, after an import of PyTorch: ``in_folder.py FOLDER COMMAND WORDS``."""

import os
import runpy
import sys

_, folder, command, *words = sys.argv
os.chdir(folder)
sys.path[0] = folder
if command == "fastdispatch":
    sys.argv = [command, *words]
    runpy.run_module("fastdispatch", run_name="__main__", alter_sys=True)
else:
    sys.argv = words
    runpy.run_path(words[0], run_name="__main__")
