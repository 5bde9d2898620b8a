"""C that encodes rows of any columns; numbers without indicators do with less (`c_source.FILL`).

In a row of numbers, a date is its seconds since 1970-01-01 00:00.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dgtrees.tables.bending import FARTHEST, POWER, ROOTS
from dgtrees.tables.dates import PARTS
from dgtrees.tables.encoding import CATEGORY, DATE, NUMBER, UNUSED, Column

__all__ = ["READ_CATEGORY", "does_with_less", "encoder_code", "encoding_arrays", "has_bent"]

_KINDS = (NUMBER, CATEGORY, DATE, UNUSED)

_REACH = """\
/* What lies beyond the reach of training is taken for its end. */
static double @_within(int column, double x)
{
    x = x < @_reach[column][0] ? @_reach[column][0] : x;
    return x > @_reach[column][1] ? @_reach[column][1] : x;
}

"""

_BEND = f"""\
/* Numbers of long tails: a soft logarithm. */
static double @_bent(int column, double x)
{{
    double z, root;
    int i;
    if (@_bend[column][1] == 0.0)
        return x;
    z = (x - @_bend[column][0]) / @_bend[column][1];
    root = z < 0.0 ? -z : z;
    root = (root < {FARTHEST} ? root : {FARTHEST}) + 1.0;
    for (i = 0; i < {ROOTS}; i++)
        root = sqrt(root);
    root = (root - 1.0) * {POWER};
    return z < 0.0 ? -root : root;
}}

"""

_LARGEST = float(np.finfo(np.float64).max)

_NUMBER = "missing ? @_median[i] : x[i]"

_BESIDE = """\
            if (@_beside[i])
                *to++ = $number;
"""

_DISTANCE = """\
            if (@_distant[i]) {
                double away = ($number) - @_center[i];
                *to++ = away < 0.0 ? -away : away;
            }
"""

_DATE = """\
/* The largest whole number that is at most a / b. */
static double @_quotient(double a, double b)
{
    double q = (double)(long)(a / b);
    return q * b > a ? q - 1.0 : q;
}

/* Year, month, weekday (Monday is 0) and hour, as far as they vary; medians for a missing date. */
static double *@_date(int column, double seconds, double *to)
{
    int j, missing = !(seconds > -6.3e10 && seconds < 2.6e11);
    double part[4], day, z, era, doe, yoe, mp;
    day = missing ? 0.0 : @_quotient(seconds, 86400.0);
    z = day + 719468.0; /* years begin in March, eras of 400 years in the year 0 */
    era = @_quotient(z, 146097.0);
    doe = z - era * 146097.0;
    yoe = @_quotient(doe - @_quotient(doe, 1460.0) + @_quotient(doe, 36524.0)
                     - @_quotient(doe, 146096.0), 365.0);
    mp = doe - (365.0 * yoe + @_quotient(yoe, 4.0) - @_quotient(yoe, 100.0));
    mp = @_quotient(5.0 * mp + 2.0, 153.0);
    part[0] = yoe + era * 400.0 + (mp >= 10.0);
    part[1] = mp < 10.0 ? mp + 3.0 : mp - 9.0;
    part[2] = day + 3.0 - 7.0 * @_quotient(day + 3.0, 7.0);
    part[3] = missing ? 0.0 : @_quotient(seconds - day * 86400.0, 3600.0);
    for (j = 0; j < 4; j++)
        if (@_part_used[column][j])
            *to++ = missing ? @_part_median[column][j] : part[j];
    if (@_indicator[column])
        *to++ = missing;
    return to;
}
"""

_ENCODE = """\
/* Numbers: the median for a missing value, and an indicator where the column has one.
   Categories: a column of 0 and 1 for each, one for all others where the column has one, and means
   that tell those apart. Columns that are not used take no room. */
static const double *@_encoded(const double *x, double *room)
{
    double *to = room;
    int i, j;
    for (i = 0; i < @_COLUMNS; i++) {
        int missing = x[i] != x[i];
        if (@_kind[i] == 0) {
$beside            *to++ = $last;
$distance            if (@_indicator[i])
                *to++ = missing;
        } else if (@_kind[i] == 1) {
            int known = !missing && x[i] >= 0.0 && x[i] < @_categories[i];
            int code = missing ? @_missing[i] : known ? (int)x[i] : @_categories[i];
            int plain = @_width[i] - @_mean_count[i];
            int own = code < @_own[i] ? code : @_own[i];
            for (j = 0; j < plain; j++)
                *to++ = j == own;
            for (j = 0; j < @_mean_count[i]; j++)
                *to++ = @_means[@_first_mean[i] + code * @_mean_count[i] + j];
        }$date
    }
    return room;
}
"""

_DATE_BRANCH = """ else if (@_kind[i] == 2) {
            to = @_date(i, x[i], to);
        }"""

READ_CATEGORY = """\
    if (@_categories[column] >= 0) {
        *value = @_category(column, text);
        if (*value < 0.0) {
            text = @_trimmed(text);
            *value = @_category(column, text);
        }
        if (*value < 0.0 && @_is_gap(text))
            *value = strtod("nan", NULL);
        return 1;
    }
"""


def does_with_less(columns: Sequence[Column]) -> bool:
    """Whether these are numbers that are only to be filled."""
    changed = any(c.indicator or c.reach or c.bent or c.from_center for c in columns)
    return not changed and all(column.kind == NUMBER for column in columns)


def encoder_code(columns: Sequence[Column]) -> str:
    """The code that encodes a row of these columns; bent ones need the mathematical library."""
    number, before = _NUMBER, ""
    if any(column.reach for column in columns):
        number, before = f"@_within(i, {number})", _REACH
    beside = _BESIDE.replace("$number", number) if any(c.beside for c in columns) else ""
    far = _DISTANCE.replace("$number", number) if any(c.from_center for c in columns) else ""
    if has_bent(columns):
        number, before = f"@_bent(i, {number})", before + _BEND
    dated = any(column.kind == DATE for column in columns)
    code = _ENCODE.replace("$date", _DATE_BRANCH if dated else "")
    code = code.replace("$beside", beside).replace("$last", number).replace("$distance", far)
    return before + (f"{_DATE}\n{code}" if dated else code)


def has_bent(columns: Sequence[Column]) -> bool:
    """Whether numbers of long tails are bent."""
    return any(column.bent for column in columns)


def encoding_arrays(columns: Sequence[Column]) -> dict[str, np.ndarray]:
    """What that code looks up, besides what `c` writes for every model."""
    used = [[part in column.parts for part in PARTS] for column in columns]
    medians = [dict(zip(column.parts, column.medians, strict=True)) for column in columns]
    means = [np.ravel(column.means) for column in columns]
    sizes = [len(mean) for mean in means]
    return {
        "kind": np.array([_KINDS.index(column.kind) for column in columns]),
        "indicator": np.array([int(column.indicator) for column in columns]),
        "own": np.array([len(column.categories) for column in columns]),
        "mean_count": np.array([len(column.outputs) for column in columns]),
        "first_mean": np.cumsum([0, *sizes[:-1]]),
        "means": np.concatenate([*means, np.zeros(1)]),  # C has no empty arrays
        "reach": np.array([column.reach or (-_LARGEST, _LARGEST) for column in columns]),
        "bend": np.array([column.bent or (0.0, 0.0) for column in columns]),
        "beside": np.array([int(column.beside) for column in columns]),
        "distant": np.array([int(bool(column.from_center)) for column in columns]),
        "center": np.array([(*column.from_center, 0.0)[0] for column in columns]),
        "part_used": np.array(used, dtype=int),
        "part_median": np.array([[m.get(part, 0.0) for part in PARTS] for m in medians]),
    }
