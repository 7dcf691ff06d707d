"""Classes outside torch.nn that the published converter supports: their declarations, their modules."""

from __future__ import annotations

import re
from collections.abc import Callable

#: Description -> declaration. Other descriptions raise AttributeError or IndexError, as in the original.
Declare = Callable[[str], str]

_LSTM = r".*LSTM\((\d+), (\d+)\).*"
_LINEAR = r".*in_features=(\d+), out_features=(\d+).*"


def _groups(pattern: str, text: str) -> tuple[str, ...]:
    found = re.search(pattern, text)
    if found is None:
        raise IndexError(pattern)
    return found.groups()


def _encoder(desc: str) -> str:
    inputs, hidden = map(int, _groups(_LSTM, desc))
    return f"EmuBidirLSTM({inputs}, {hidden})"


def _attention(desc: str) -> str:
    inputs, hidden = map(int, _groups(_LSTM, desc))
    return f"RecurrentAttention({inputs}, {hidden}, {int(_groups(_LINEAR, desc)[0])})"


def _classifier(desc: str) -> str:
    inputs, outputs = map(int, _groups(_LINEAR, desc))
    return f"Classifier({inputs}, {outputs})"


def _mask_conv(desc: str) -> str:
    return _sequential("MaskConv", desc.split("    ")[1:-1])


def _sequence_wise(desc: str) -> str:
    return _sequential("SequenceWise", desc[:-2].split("  ")[1:])


def _sequential(name: str, children: list[str]) -> str:
    modules = [f"torch.nn.{child.split(': ')[1].replace('inplace', 'inplace=True')}" for child in children]
    separator = ",\n            "
    return f"{name}(torch.nn.Sequential({separator.join(modules)}))"


def _batch_rnn(desc: str) -> str:
    kind = "LSTM" if "LSTM" in desc else "GRU"
    inputs, hidden, both = _groups(kind + r"\((\d+), (\d+), bidirectional=([a-zA-Z]+)\)", desc)
    normed = "batch_norm" in desc
    return (
        f"BatchRNN({int(inputs)}, {int(hidden)}, rnn_type=torch.nn.{kind}, batch_norm={normed}, bidirectional={both})"
    )


def _plain(name: str) -> Declare:
    return lambda desc: f"{name}()"


#: In the order in which prefixes are tried.
SPECIAL: dict[str, tuple[Declare, str]] = {
    "EmuBidirLSTM": (_encoder, "seq2seq.models.encoder"),
    "RecurrentAttention": (_attention, "seq2seq.models.decoder"),
    "Classifier": (_classifier, "seq2seq.models.decoder"),
    "MaskConv": (_mask_conv, "model"),
    "ResizeInput": (_plain("ResizeInput"), "model"),
    "InferenceBatchSoftmax": (_plain("InferenceBatchSoftmax"), "model"),
    "BatchRNN": (_batch_rnn, "model"),
    "SequenceWise": (_sequence_wise, "model"),
}
