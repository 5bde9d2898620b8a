"""Columns of a table as numbers, the usual way, for models that take nothing else."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

LEAST_FREQUENCY = 2


def encode(
    train: pd.DataFrame,
    test: pd.DataFrame,
    dates: tuple[str, ...] = (),
    identifiers: tuple[str, ...] = (),
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers for training and test rows, learnt from the training rows.

    Missing numbers become the median. Text and booleans become one column a value, with one for
    all values that occur once and one for missing ones; a value unknown in training is all zeros.
    A date becomes its days since 1970, month, weekday and hour. Identifiers are left out.

    Parameters
    ----------
    train, test : DataFrame of the same columns
    dates, identifiers : tuple of str
        Names of such columns.

    Returns
    -------
    tuple of arrays of shape (rows, encoded columns)
    """
    train, test = (_spread(part, dates).drop(columns=list(identifiers)) for part in (train, test))
    numbers = train.select_dtypes("number").columns
    words = train.columns.difference(numbers, sort=False)
    one_hot = OneHotEncoder(
        handle_unknown="ignore", min_frequency=LEAST_FREQUENCY, sparse_output=False
    )
    encoder = ColumnTransformer(
        [("numbers", SimpleImputer(strategy="median"), numbers), ("words", one_hot, words)]
    )
    return encoder.fit_transform(train), encoder.transform(test)


def _spread(rows: pd.DataFrame, dates: tuple[str, ...]) -> pd.DataFrame:
    parts = {}
    for name in dates:
        moment = pd.to_datetime(rows[name], utc=True).dt.tz_localize(None)
        parts[f"{name}, days"] = (moment - pd.Timestamp(0)) / pd.Timedelta(days=1)
        for part in ("month", "day_of_week", "hour"):
            parts[f"{name}, {part}"] = getattr(moment.dt, part)
    return rows.drop(columns=list(dates)).assign(**parts)
