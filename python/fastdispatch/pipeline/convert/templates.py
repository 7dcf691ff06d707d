"""The templates of a package, in the published converter's form."""

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
