"""Controls made from a classifier: what a linear model's posteriors alone are worth in retrieval."""
