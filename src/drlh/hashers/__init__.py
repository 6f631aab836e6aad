"""Features (and labels) → codes: the contract, one file for each method, and the list of them."""
