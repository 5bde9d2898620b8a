"""`python -m dgtrees.cli`: the same as `dgt`."""

from dgtrees.cli import main

if __name__ == "__main__":
    main()
