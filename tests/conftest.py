"""Settings for all tests."""

from hypothesis import settings

# Compiled kernels are slow the first time; timing is not what these tests are about.
settings.register_profile("dgtrees", deadline=None, derandomize=True)
settings.load_profile("dgtrees")
