"""Rows of views and copies."""

from __future__ import annotations

from tests.tables.ops_table import Row, call, numbers

CUBE = (numbers(2, 3, 4),)
ROWS: list[Row] = [
    call("permute", lambda t, x: x.permute(2, 0, 1), CUBE),
    call("expand", lambda t, x: x[:, :1].expand(2, 5, 4), CUBE),
    call("view", lambda t, x: x.view(6, 4), CUBE),
    call("clone", lambda t, x: x.permute(2, 0, 1).reshape(8, 3), CUBE, label="reshape"),
    call("unsqueeze squeeze", lambda t, x: x.unsqueeze(1).squeeze(1), CUBE),
    call("slice slice_backward", lambda t, x: x[:, 1:, ::2], CUBE),
    call("select slice_backward", lambda t, x: x[1], CUBE),
    call("diagonal view_update", lambda t, x: x.diagonal(1, 0, 2), CUBE),
    call("as_strided as_strided_backward", lambda t, x: x.as_strided((3, 3), (2, 1), 1), CUBE),
    call("unfold", lambda t, x: x.unfold(2, 2, 1), CUBE),
    call("cat", lambda t, x: t.cat([x, x * 2], 1), CUBE),
    call("stack", lambda t, x: t.stack([x, x * 2], 1), CUBE),
    call("flip", lambda t, x: t.flip(x, (0, 2)), CUBE),
    call("roll", lambda t, x: t.roll(x, (1, -1), (0, 2)), CUBE),
    call("constant_pad_nd", lambda t, x: t.nn.functional.pad(x, (1, 2, -1, 1)), CUBE),
    call("alias", lambda t, x: x[...], CUBE),
    # float32 in between rounds more than the comparison of inner products allows
    call("_to_copy", lambda t, x: x.to(t.float32), CUBE, second=False,
         dtypes=("float64",), gradient_dtypes=("float64",)),
]  # fmt: skip
