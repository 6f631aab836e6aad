"""Convolutional networks that learn: pictures as rows of pixels in, feature rows out."""
