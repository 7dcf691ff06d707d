"""Small stand-ins for the three classes of GNMT's own, with their arguments and results. A folder of it is written as
the package ``seq2seq.models`` that generated stages import."""

from pathlib import Path

ENCODER = """
import torch

class EmuBidirLSTM(torch.nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.bidir = torch.nn.LSTM(inputs, hidden, bidirectional=True)

    def forward(self, values, lengths):
        packed = torch.nn.utils.rnn.pack_padded_sequence(values, lengths + 1, enforce_sorted=False)
        answer, _ = self.bidir(packed)
        return torch.nn.utils.rnn.pad_packed_sequence(answer, total_length=values.shape[0])[0]
"""

DECODER = """
import torch

class RecurrentAttention(torch.nn.Module):
    def __init__(self, inputs, hidden, context):
        super().__init__()
        self.rnn = torch.nn.LSTM(inputs, hidden)
        self.key = torch.nn.Linear(context, hidden)

    def forward(self, values, hidden, context, lengths):
        answer, hidden = self.rnn(values, hidden)
        scores = torch.einsum("tbh,sbh->tbs", answer, self.key(context)).softmax(-1)
        return answer, hidden, torch.einsum("tbs,sbh->tbh", scores, context), scores

class Classifier(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.classifier = torch.nn.Linear(inputs, outputs)

    def forward(self, values):
        return self.classifier(values)
"""


def write(folder: Path) -> None:
    models = folder / "seq2seq" / "models"
    models.mkdir(parents=True)
    for name, text in (("encoder", ENCODER), ("decoder", DECODER), ("__init__", ""), ("../__init__", "")):
        (models / f"{name}.py").write_text(text)
