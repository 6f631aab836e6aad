"""DRLH: codebook → environment → Q-network → replay → training loop → hasher."""
