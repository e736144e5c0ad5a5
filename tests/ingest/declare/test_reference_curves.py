"""The published curves in the package are valid, and equal to the publisher's."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tracehouse.ingest.declare.reference_curves import Curve, read_curves, traces_with_curves

SPEC_PERCENTILES = {0, 1, 2.5, *range(5, 100, 5), 97.5, 99, 100}


@pytest.fixture(scope="module")
def published(real_raw: Path) -> dict[str, pl.DataFrame]:
    path = real_raw / "acme" / "reference_cdfs.csv"
    if not path.is_file():
        pytest.skip(f"{path}, the publisher's curves as CSV, is missing")
    points = pl.read_csv(path)
    return {str(name): curve for (name,), curve in points.group_by("curve", maintain_order=True)}


def percentile_range(curve: Curve, value: float) -> tuple[float, float]:
    """Return the lowest and highest percentile of a value, interpolated between the points of a curve."""
    values, percentiles = np.array(curve.values), np.array(curve.percentiles)
    here = percentiles[values == value]
    if len(here):
        return here.min(), here.max()
    at = float(np.interp(value, values, percentiles))
    return at, at


def test_curve_is_a_distribution() -> None:
    assert traces_with_curves() == ("acme",)
    for curve in read_curves("acme").values():
        assert set(curve.percentiles) >= SPEC_PERCENTILES
        assert (curve.percentiles[0], curve.percentiles[-1]) == (0, 100)
        assert (np.diff(curve.percentiles) > 0).all()
        assert (np.diff(curve.values) >= 0).all()


def test_curves_equal_the_published_ones(published: dict[str, pl.DataFrame]) -> None:
    assert list(read_curves("acme")) == list(published)
    for name, curve in read_curves("acme").items():
        points = published[name]
        kept = points.filter(pl.col("percentile").is_in(curve.percentiles))
        assert kept["percentile"].to_list() == list(curve.percentiles)
        assert kept["value"].to_numpy() == pytest.approx(np.array(curve.values), rel=5e-5)
        for percentile, exact in points.select("percentile", "value").iter_rows():
            # Rounded like the stored points, so that a value on a flat part of the curve matches it.
            low, high = percentile_range(curve, float(f"{exact:.5g}"))
            assert low - 1 <= percentile <= high + 1, (name, percentile, exact)
