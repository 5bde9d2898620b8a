"""Speed as ratios, all sides measured in turn in one run: `make bench`, docs/speed.md."""
