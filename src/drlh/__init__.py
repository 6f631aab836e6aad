"""Learn short binary codes for images and search millions of images with them."""
