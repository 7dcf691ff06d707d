"""The three templates of a package, in the published converter's form: text with ``%(name)s`` fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fastdispatch._core import Error
from fastdispatch.files.regular import read_text

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

CONF = """\
{
    "module_to_stage_map": %(module_to_stage_map)s,
    "stage_to_rank_map": %(stage_to_rank_map)s
}
"""


@dataclass(frozen=True)
class Template:
    text: str
    name: str

    def fill(self, fields: Mapping[str, object]) -> str:
        try:
            return self.text % fields
        except KeyError as error:
            known = ", ".join(fields)
            raise Error(f"{self.name}: no field {error.args[0]!r}; there are {known}") from None
        except (TypeError, ValueError) as error:
            raise Error(f"{self.name}: {error}: write %% for a literal %") from None


@dataclass(frozen=True)
class Templates:
    model: Template = Template(MODEL, "model.py.template")
    init: Template = Template(INIT, "__init__.py.template")
    conf: Template = Template(CONF, "conf.json.template")


def template(path: str | None, default: Template) -> Template:
    """The template at ``path``, or the built-in one."""
    if path is None:
        return default
    try:
        return Template(read_text(path), path)
    except (OSError, UnicodeDecodeError) as error:
        raise Error(f"{path}: cannot read: {getattr(error, 'strerror', None) or error}") from None
