"""Convolutional networks: the layers of each written once, run by torch to learn and by onnxruntime for features.

Only `backbone`, `torch_layers` and `pixel_input` import torch; converting weights and extracting features do not.
"""
