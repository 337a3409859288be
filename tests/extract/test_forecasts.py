"""What readers say that their readings will take."""

from __future__ import annotations

import pytest

from contextbias.extract.simulated import SimulatedReader


def test_the_simulated_reader_takes_the_same_for_every_picture() -> None:
    reader = SimulatedReader({})
    few, many = reader.plan(10, None), reader.plan(1000, (2048, 2048))
    assert few.seconds is not None
    assert many.seconds == pytest.approx(100 * few.seconds)
    assert few.size == 23_000
    assert few.money is None


@pytest.mark.weights
def test_the_local_reader_takes_longer_for_large_pictures() -> None:
    from contextbias.extract.local import LocalReader

    reader = LocalReader({})
    small, large = reader.plan(100, (512, 512)), reader.plan(100, (1024, 1024))
    # 0.057 + 0.149 * 1.048576 = 0.213 seconds; measured: 0.213.
    assert large.seconds == pytest.approx(21.3, abs=0.1)
    assert small.seconds == pytest.approx(9.6, abs=0.1)
    assert reader.plan(100, None).seconds == large.seconds
    assert reader.plan(0, None).seconds == 0
