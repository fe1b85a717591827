"""`python -m beam_wordpiece`: the command `beam-wordpiece`, also where its script is not on the path."""

import sys

from beam_wordpiece.cli import main

if __name__ == "__main__":
    sys.exit(main())
