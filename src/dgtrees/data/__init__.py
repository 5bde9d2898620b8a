"""From a user's table to float arrays."""

from dgtrees.data.encoder import Encoder

__all__ = ["Encoder"]
