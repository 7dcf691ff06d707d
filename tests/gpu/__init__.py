"""Checks of GPU time on a machine with an NVIDIA GPU: ``make test-gpu``. They need PyTorch with CUDA, nothing else."""
