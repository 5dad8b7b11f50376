"""What a recorded array leaves: its statistics are numpy's, its digest is of every byte in its
place, and the difference of two sketches estimates the arrays' own."""

import numpy as np
import pytest

from mindtorch.tools.compare.statistics import digest_of, sketch_difference, statistics_of


@pytest.mark.parametrize("size", [1, 7, 16, 255, 4097, 70_001])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int64, np.complex64])
def test_figures_are_those_of_numpy(size: int, dtype: type) -> None:
    """At sizes around the loops' blocks."""
    drawn = np.random.default_rng(size).normal(3, 20, (2, size))
    array = (drawn[0] + 1j * drawn[1] if dtype is np.complex64 else drawn[0]).astype(dtype)
    statistics = statistics_of(array, "")
    flat = array.view(np.float32) if dtype is np.complex64 else array
    truth = flat.astype(np.float64)
    assert statistics.largest == np.abs(truth).max()
    assert statistics.mean == pytest.approx(truth.mean(), rel=1e-5, abs=1e-5)
    assert statistics.norm == pytest.approx(np.linalg.norm(truth), rel=1e-6)
    assert statistics.odd == 0


def test_what_is_not_finite_is_counted_and_left_out() -> None:
    """NaN in a sum would hide everything else; squares of large float32 do not overflow."""
    array = np.array([1.0, np.nan, -3.0, np.inf, -np.inf], np.float32)
    statistics = statistics_of(array, "")
    assert (statistics.odd, statistics.largest) == (3, 3.0)
    assert statistics.norm == pytest.approx(np.sqrt(10))
    huge = statistics_of(np.full(5, 1e30, np.float32), "")
    assert huge.norm == pytest.approx(np.sqrt(5) * 1e30)


@pytest.mark.parametrize("size", [1, 3, 8, 100, 16_384, 16_389, 50_001])
def test_a_digest_is_of_every_byte_in_its_place(size: int) -> None:
    """One bit changed, two bytes exchanged, another shape or type: another digest."""
    array = np.random.default_rng(size).integers(0, 255, size).astype(np.uint8)
    seen = {digest_of(array, "uint8"), digest_of(array, "int8")}
    seen.add(digest_of(array.reshape(size, 1), "uint8"))
    places = sorted({0, size // 2, size - 1})
    for place in places:
        changed = array.copy()
        changed[place] ^= 1
        seen.add(digest_of(changed, "uint8"))
    assert len(seen) == 3 + len(places)
    if size > 8:
        turned = np.roll(array, 8)
        assert digest_of(turned, "uint8") not in seen
    assert digest_of(array.copy(), "uint8") == digest_of(array, "uint8")


@pytest.mark.parametrize("size", [16, 300, 5000, 200_000])
def test_sketches_tell_how_far_apart_arrays_are(size: int) -> None:
    """To within a factor of two, for differences in one place or in all."""
    generator = np.random.default_rng(size)
    array = generator.normal(size=size).astype(np.float32)
    for apart in (generator.normal(size=size) * 1e-2, np.eye(1, size, size // 3)[0]):
        other = (array + apart).astype(np.float32)
        first, second = statistics_of(array, ""), statistics_of(other, "")
        estimate = sketch_difference(first.sketch, second.sketch, 1.0)
        assert 0.5 < estimate / np.linalg.norm(apart) < 2
