"""What `tally demo` can be asked for; loading this loads nothing that plays."""

from __future__ import annotations

import argparse


class Arguments(argparse.Namespace):
    fast: bool
    keep: bool
    here: bool
    page: bool
    postgres: str | None


def read(argv: list[str]) -> Arguments:
    parser = _parser()
    asked = parser.parse_args(argv, namespace=Arguments())
    if asked.page and (asked.here or asked.postgres):
        parser.error("--page has a store and a hub of its own; leave out --here and --postgres")
    return asked


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tally demo",
        description="Three scripted agents share a small repository and one of them dies at work: half a minute of how"
        " the stick is handed on, taken over and accounted for. It needs no harness, no account and no network.",
    )
    parser.add_argument("--fast", action="store_true", help="do not stop for the reader")
    parser.add_argument("--keep", action="store_true", help="leave the store and the repository behind to look at")
    parser.add_argument("--here", action="store_true", help="play in your own store instead of a scratch one")
    parser.add_argument("--page", action="store_true", help="watch it on the page, and stay there until Ctrl-C")
    parser.add_argument("--postgres", metavar="URL", help="play in this PostgreSQL database")
    return parser
