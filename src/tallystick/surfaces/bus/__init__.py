"""The bus over a Unix socket: lines of JSON, one envelope each. What they mean is decided in `tallystick.bus`."""
