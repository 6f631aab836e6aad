"""`python -m drlh` is the command `drlh`; `torchrun --nproc-per-node N -m drlh fit …` learns in N processes."""

from drlh.cli import main

main()
