"""``python -m tvselect.cli``: the same as ``tvs``."""

import sys

from tvselect.cli.call import main

if __name__ == "__main__":
    sys.exit(main())
