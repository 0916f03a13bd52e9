"""`python -m agnn`: the program, where `agnn` itself is not on the path, as under torchrun."""

import sys

from agnn.cli import main

if __name__ == "__main__":
    sys.exit(main())
