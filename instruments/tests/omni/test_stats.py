# SPDX-License-Identifier: BSD-3-Clause
from collections import Counter

import numpy as np
import pytest
from omnipgas_tools.measure import stats


def test_interval_holds_the_median_and_shrinks_with_more_values() -> None:
    noise = list(np.random.default_rng(7).normal(100, 10, 400))
    few, many = stats.median_interval(noise[:20]), stats.median_interval(noise)
    assert few.low < few.median < few.high
    assert 98 < many.low < many.median < many.high < 102
    assert many.relative_width < few.relative_width / 2


def test_interval_covers_the_true_median_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(200):
        interval = stats.median_interval(list(rng.exponential(1.0, 30)))
        inside += interval.low <= np.log(2) <= interval.high
    assert 175 <= inside <= 200  # 95 % of 200, and what chance and 30 values allow


def test_starts_that_differ_widen_the_interval_and_equal_ones_do_not() -> None:
    noise = np.random.default_rng(5).normal(100, 1, (3, 10))
    plain = stats.median_interval(noise.ravel().tolist())
    equal = stats.clustered_interval(noise.tolist())
    apart = stats.clustered_interval((noise + np.array([[0], [30], [60]])).tolist())
    assert equal.median == plain.median and equal.relative_width < 2 * plain.relative_width
    assert apart.low < 102 and apart.high > 158
    assert stats.clustered_interval([[1.0, 2.0, 4.0], []]) == stats.median_interval([1.0, 2.0, 4.0])


def test_an_interval_over_starts_covers_what_a_plain_one_misses() -> None:
    rng = np.random.default_rng(3)
    inside = [0, 0]
    for _ in range(200):
        clusters = (rng.normal(100, 10, (6, 1)) + rng.normal(0, 1, (6, 4))).tolist()
        plain = stats.median_interval([value for cluster in clusters for value in cluster])
        for number, interval in enumerate((plain, stats.clustered_interval(clusters))):
            inside[number] += interval.low <= 100 <= interval.high
    assert inside[0] < 150 and inside[1] > 170  # of 200


def test_one_value_is_known_exactly() -> None:
    interval = stats.median_interval([5.0])
    assert (interval.median, interval.low, interval.high, interval.count) == (5.0, 5.0, 5.0, 1)


def test_no_values_are_an_error() -> None:
    with pytest.raises(ValueError, match="no values"):
        stats.median_interval([])


def test_paired_ratio_cancels_a_drift_that_unpaired_medians_do_not() -> None:
    drift = np.linspace(1, 50, 40)
    ratio = stats.paired_ratio(list(1.2 * drift), list(drift))
    assert ratio.median == pytest.approx(1.2)
    assert ratio.high - ratio.low < 1e-9


def test_a_claim_needs_thirty_pairs() -> None:
    with pytest.raises(ValueError, match="29 rounds, 30 needed"):
        stats.paired_ratio([1.0] * 29, [1.0] * 40)
    assert stats.paired_ratio([2.0] * 30, [1.0] * 40).count == 30


def bucket(ns: int) -> int:
    """bench/harness/histogram.hpp in Python."""
    shift = max(0, ns.bit_length() - 7)
    return shift * 64 + (ns >> shift)


def test_bucket_value_inverts_the_harness() -> None:
    for ns in [0, 1, 127, 128, 129, 1000, 123_456, 10**9, 10**12]:
        assert stats.bucket_value(bucket(ns)) == pytest.approx(ns, rel=0.008)


def test_percentiles_of_a_merged_histogram() -> None:
    values = np.random.default_rng(1).lognormal(8, 1, 20_000).astype(int)
    histogram: Counter[int] = Counter()
    for part in np.split(values, 4):
        histogram.update(Counter(bucket(int(v)) for v in part))
    for wanted in (50, 90, 99):
        [found] = stats.percentiles(histogram, [wanted])
        assert found == pytest.approx(np.percentile(values, wanted), rel=0.02)
