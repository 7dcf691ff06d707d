"""The templates of a package, in the published converter's form."""

from collections.abc import Sequence

MODEL = """\
import torch
%(import_statements)s

class %(module_name)s(torch.nn.Module):
    def __init__(self):
        super(%(module_name)s, self).__init__()
        %(layer_declarations)s

    %(module_methods)s

    def forward(self, %(inputs)s):
        %(function_definition)s
"""

INIT = """\
%(import_statements)s

def arch():
    return "%(arch)s"

def model(criterion):
    return [
        %(model)s
    ]

def full_model():
    return %(full_model)s
"""


def rows(values: Sequence[object]) -> str:
    """The inside of a tuple, a line an entry."""
    return "".join(f"\n    {value!r}," for value in values) + "\n" if values else ""
