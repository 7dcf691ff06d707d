"""Classes outside torch.nn: ``Name=module:Class(args)``, where an argument may be a part of the description.

    Classifier=seq2seq.models.decoder:Classifier(classifier.in_features, classifier.out_features)

``classifier.in_features`` is that argument of the child ``classifier``, ``rnn.0`` its first, ``rnn`` the child itself.
"""

import keyword
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fastdispatch._core import Error
from fastdispatch.pipeline.convert.describe import Description, describe

_FORM = re.compile(r"([A-Za-z_]\w*)=([A-Za-z_][\w.]*):([A-Za-z_]\w*)(\(.*\))?", re.DOTALL)

#: The classes that the published converter has built in.
PUBLISHED = (
    "EmuBidirLSTM=seq2seq.models.encoder:EmuBidirLSTM(layer2.0, layer2.1)",
    "RecurrentAttention=seq2seq.models.decoder:RecurrentAttention(rnn.0, rnn.1, attn.linear_q.in_features)",
    "Classifier=seq2seq.models.decoder:Classifier(classifier.in_features, classifier.out_features)",
    "MaskConv=model:MaskConv(seq_module)",
    "ResizeInput=model:ResizeInput()",
    "InferenceBatchSoftmax=model:InferenceBatchSoftmax()",
    "BatchRNN=model:BatchRNN(rnn.0, rnn.1, rnn_type=rnn.class, batch_norm=batch_norm.present, "
    "bidirectional=rnn.bidirectional)",
    "SequenceWise=model:SequenceWise(module)",
)


@dataclass(frozen=True)
class Import:
    """How a described class is made."""

    module: str
    name: str
    #: None: the values of the description.
    arguments: Description | None = None

    @property
    def statement(self) -> str:
        return f"from {self.module} import {self.name}"

    def construct(self, found: Description, declare: Callable[[Description], str]) -> str:
        if self.arguments is None:
            if found.children:
                raise Error(f"its description contains modules: give the arguments of {self.name}, {self.name}(...)")
            values, keywords = found.args, found.keywords
        else:
            values = [_value(each, found, declare) for each in self.arguments.args]
            keywords = {key: _value(each, found, declare) for key, each in self.arguments.keywords.items()}
        return f"{self.name}({', '.join([*values, *(f'{key}={value}' for key, value in keywords.items())])})"


def _value(text: str, found: Description, declare: Callable[[Description], str]) -> str:
    """Source of an argument: a name on its own, which was read as a text, is a part of the description."""
    if not re.fullmatch(r"'[A-Za-z_][\w.]*'", text):
        return text
    path = text.strip("'")
    part, _, asked = path.rpartition(".")
    if asked == "present":
        return str(part in found.children)
    if asked == "class":
        child = found.find(part)
        return f"torch.nn.{child.name}" if isinstance(child, Description) else text
    try:
        value = found.find(path)
    except Error:
        if "." in path or path in found.children:
            raise
        return text
    return declare(value) if isinstance(value, Description) else value


def read_imports(texts: Iterable[str]) -> dict[str, Import]:
    """By the name in descriptions; later ones win over earlier ones and over those built in."""
    found = {}
    for text in (*PUBLISHED, *texts):
        match = _FORM.fullmatch(text.strip())
        if match is None or any(keyword.iskeyword(part) for part in f"{match[2]}.{match[3]}".split(".")):
            raise Error(f"--import {text}: write NAME=MODULE:CLASS or NAME=MODULE:CLASS(ARGUMENTS)")
        try:
            arguments = describe(f"{match[3]}{match[4]}") if match[4] else None
        except Error as error:
            raise Error(f"--import {text}: {error}") from None
        found[match[1]] = Import(match[2], match[3], arguments)
    return found
