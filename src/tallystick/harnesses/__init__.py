"""What we know of the programs that run agents: how to recognise one, which instance is calling, whether it still runs.

`identity.resolve` says for every surface who is calling; `processes` holds the facts, `registry` the table of
harnesses. `install` sets harnesses up, `shell` reads what a command is about to change, `headless` calls one without a
terminal.
"""
