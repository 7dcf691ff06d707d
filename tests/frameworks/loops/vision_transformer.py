"""Training of a small vision transformer of timm. timm imports torchvision, whose operators are built for one PyTorch
each: two of them are declared first, and none is called."""

import torch

STEPS = 6


def main() -> None:
    for name in ("nms", "qnms"):
        torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import timm

    torch.manual_seed(0)
    model = timm.create_model(
        "vit_tiny_patch16_224", pretrained=False, num_classes=4, img_size=32, patch_size=8, depth=2
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
    for _ in range(STEPS):
        images, labels = torch.randn(4, 3, 32, 32), torch.randint(0, 4, (4,))
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print("loss", loss.item().hex())


if __name__ == "__main__":
    main()
