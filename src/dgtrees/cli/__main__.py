"""`python -m dgtrees.cli`: the same as `dgt`."""

from dgtrees.cli.app import main

if __name__ == "__main__":
    main()
