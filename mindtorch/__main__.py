"""`python -m mindtorch`: see mindtorch.tools.command_line."""

import sys

from mindtorch.tools.command_line import main

if __name__ == "__main__":
    sys.exit(main())
