"""A program that writes down which action it works on, first and last thing: `diary.py FILE`."""

import os
import sys
from pathlib import Path

diary = Path(sys.argv[1])
prompt = sys.stdin.read()


def note(word: str) -> None:
    with diary.open("a") as opened:
        opened.write(f"{word} {os.environ['TALLYSTICK_ACTION']}\n")


note("begin")
note("end")
sys.stdout.write("noted\n")
