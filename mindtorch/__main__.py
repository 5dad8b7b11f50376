"""`python -m mindtorch`: see mindtorch.tools.cli."""

import sys

from mindtorch.tools.cli import main

if __name__ == "__main__":
    sys.exit(main())
