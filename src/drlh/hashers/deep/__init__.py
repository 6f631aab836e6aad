"""Methods that learn a network by gradients: one loop (`loop.py`), one hasher (`hasher.py`), one file for each loss."""
