"""Two GCN layers of PyTorch Geometric, full batch."""

import torch
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

STEPS = 8


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = GCNConv(8, 16)
        self.second = GCNConv(16, 3)

    def forward(self, data: Data) -> torch.Tensor:
        hidden = self.first(data.x, data.edge_index).relu()
        return self.second(hidden, data.edge_index)


def main() -> None:
    torch.manual_seed(0)
    edges = torch.randint(0, 20, (2, 60))
    data = Data(x=torch.randn(20, 8), edge_index=edges, y=torch.arange(20) % 3)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(data), data.y)
        loss.backward()
        optimizer.step()
        print("loss", loss.item().hex())


if __name__ == "__main__":
    main()
