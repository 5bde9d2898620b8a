"""Text files of numbers: damaged ones are refused in one line."""

import pytest

from dgtrees.errors import DataError
from dgtrees.paper.catalog import load


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2,3\n", "must hold 91 numbers per row, but CSV parse error"),
        (",".join(["1"] * 90 + ["x"]) + "\n", "must hold 91 numbers per row, but .*'x'"),
        (",".join(["1"] * 90 + [""]) + "\n", "must hold 91 numbers per row, but"),
    ],
)
def test_damaged_tables_are_refused(text, message, tmp_path):
    (tmp_path / "yearpred").mkdir()
    (tmp_path / "yearpred" / "YearPredictionMSD.txt").write_text(text)
    with pytest.raises(DataError, match=message) as caught:
        load("yearpred", folder=tmp_path)
    assert "\n" not in str(caught.value)
