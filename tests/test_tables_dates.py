from datetime import datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtrees.tables.dates import find_order, parse_date, parts_of, to_dates

MOMENTS = st.datetimes(min_value=datetime(1000, 1, 1)).map(lambda m: m.replace(microsecond=0))
FORMATS = {
    "ymd": ("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d"),
    "dmy": ("%d.%m.%Y", "%d/%m/%Y"),
    "mdy": ("%m/%d/%Y",),
}


@given(moment=MOMENTS, order=st.sampled_from(sorted(FORMATS)), data=st.data())
def test_what_is_written_is_read(moment, order, data):
    written = moment.strftime(data.draw(st.sampled_from(FORMATS[order])))
    assert parse_date(written, order) == datetime(moment.year, moment.month, moment.day)
    clock = data.draw(st.sampled_from([" %H:%M:%S", "T%H:%M:%SZ", " %H:%M:%S.123"]))
    assert parse_date(written + moment.strftime(clock), order) == moment


@given(moment=MOMENTS, minutes=st.integers(-720, 720))
def test_offsets_lead_to_utc(moment, minutes):
    if not datetime(1000, 1, 2) < moment < datetime(9999, 12, 30):
        return
    zone = timezone(timedelta(minutes=minutes))
    there = moment.replace(tzinfo=timezone.utc).astimezone(zone)  # noqa: UP017
    assert parse_date(there.isoformat()) == moment
    assert to_dates(np.array([there], dtype=object), "c")[0] == np.datetime64(moment)


@given(moments=st.lists(MOMENTS, min_size=1))
def test_parts_are_those_of_the_calendar(moments):
    parts = parts_of(np.array([*moments, "NaT"], dtype="datetime64[s]"))
    assert parts["year"][:-1].tolist() == [m.year for m in moments]
    assert parts["month"][:-1].tolist() == [m.month for m in moments]
    assert parts["weekday"][:-1].tolist() == [m.weekday() for m in moments]
    assert parts["hour"][:-1].tolist() == [m.hour for m in moments]
    assert all(np.isnan(part[-1]) for part in parts.values())


@pytest.mark.parametrize(
    ("texts", "orders"),
    [
        (["2020-01-02", "2020-12-31"], ["ymd"]),
        (["13/1/2020", "1/2/2020"], ["dmy"]),
        (["1/13/2020", "1/2/2020"], ["mdy"]),
        (["1.2.2020", "3.4.2020"], ["dmy"]),
        (["1/2/2020", "3/4/2020"], ["dmy", "mdy"]),
        (["13/1/2020", "1/13/2020"], []),
        (["1/2/20"], []),
        (["12:30"], []),
        (["2020-02-30"], []),
    ],
)
def test_order_is_found_in_the_values(texts, orders):
    assert find_order(texts) == orders


def test_what_is_no_date_is_refused():
    for value in ("soon", "13/13/2020", 5.0):
        with pytest.raises(ValueError, match="column 'c' must hold dates"):
            to_dates(np.array([value], dtype=object), "c", "dmy")
