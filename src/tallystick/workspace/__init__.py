"""The workspace on this machine's disk: its root, where a path lies in a room, and what git and Beads call unfinished.

Everything here reads the file system or runs a program and knows no store, so it is done before a transaction opens.
"""
