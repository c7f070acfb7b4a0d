"""Tallystick: one local-first hub for people who run several coding agents on the same code."""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tallystick.client import BusClient, Client

__all__ = ["BusClient", "Client", "__version__"]


def __getattr__(name: str) -> object:
    """The clients, imported when somebody asks for them: every command imports this module first."""
    if name not in __all__:
        raise AttributeError(f"module 'tallystick' has no attribute '{name}'")
    from tallystick import client

    return getattr(client, name)
