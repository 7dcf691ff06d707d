"""Training of a small UNet of diffusers on noise, then a sampled picture with its DDPM pipeline."""

import diffusers
import torch

STEPS = 4


def main() -> None:
    torch.manual_seed(0)
    model = diffusers.UNet2DModel(
        sample_size=8,
        in_channels=1,
        out_channels=1,
        block_out_channels=(8, 16),
        layers_per_block=1,
        norm_num_groups=4,
        down_block_types=("DownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "UpBlock2D"),
    )
    noise_scheduler = diffusers.DDPMScheduler(num_train_timesteps=20)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
    for _ in range(STEPS):
        images, noise = torch.randn(2, 1, 8, 8), torch.randn(2, 1, 8, 8)
        times = torch.randint(0, 20, (2,))
        predicted = model(noise_scheduler.add_noise(images, noise, times), times).sample
        loss = torch.nn.functional.mse_loss(predicted, noise)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print("loss", loss.item().hex())
    pipeline = diffusers.DDPMPipeline(model, noise_scheduler)
    pipeline.set_progress_bar_config(disable=True)
    picture = pipeline(num_inference_steps=3, output_type="np").images
    print("loss", float(picture.sum()).hex())


if __name__ == "__main__":
    main()
