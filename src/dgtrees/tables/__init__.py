"""From a user's table to float arrays."""

from dgtrees.tables.encoder import Encoder

__all__ = ["Encoder"]
