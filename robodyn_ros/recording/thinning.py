"""Fewer points for a drawing, with every peak kept."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def thinned(x: Array, buckets: int) -> npt.NDArray[np.int64]:
    """Rows of x (T,) to draw: the least and the largest of each bucket, in order, and the ends."""
    if x.size <= 2 * buckets:
        return np.arange(x.size)
    edges = np.linspace(0, x.size, buckets + 1).astype(np.int64)
    size = int(np.diff(edges).max())
    rows = np.minimum(edges[:-1, None] + np.arange(size), edges[1:, None] - 1)
    parts = x[rows]
    first = np.arange(buckets)
    lowest, highest = rows[first, parts.argmin(axis=1)], rows[first, parts.argmax(axis=1)]
    return np.unique(np.concatenate([lowest, highest, [0, x.size - 1]]))
