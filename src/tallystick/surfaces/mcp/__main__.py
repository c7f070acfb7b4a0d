"""`python -m tallystick.surfaces.mcp` is `tally mcp`."""

import sys

from tallystick.surfaces.mcp.shim import main

sys.exit(main())
