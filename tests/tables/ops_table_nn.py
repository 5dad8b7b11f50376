"""Rows of the ops of networks."""

from __future__ import annotations

from typing import Any

from tests.tables.ops_table import Case, Row, integers, numbers


def call(ops: str, function: Any, *cases: Case, **options: Any) -> Row:
    return Row(ops, function, cases, strides=False, **{"tolerance": 128, **options})


def recurrent(kind: str) -> Any:
    """A layer with the weights given, bare of biases."""

    def run(t: Any, x: Any, w_ih: Any, w_hh: Any) -> Any:
        module = getattr(t.nn, kind)(x.shape[-1], w_hh.shape[-1], bias=False)
        for name, value in (("weight_ih_l0", w_ih), ("weight_hh_l0", w_hh)):
            delattr(module, name)
            setattr(module, name, value)
        return module(x)[0]

    return run


IMAGE, WEIGHT = numbers(2, 4, 6, 6), numbers(6, 2, 3, 3, seed=1)
A = numbers(3, 5)


def _masked_attention(t: Any, q: Any, k: Any, v: Any, mask: Any) -> Any:
    return t.nn.functional.scaled_dot_product_attention(q, k, v, mask)


ROWS = [
    call("convolution convolution_input_gradient convolution_weight_gradient channel_sum",
         lambda t, x, w, b: t.nn.functional.conv2d(x, w, b, 2, 1, 1, 2),
         (IMAGE, WEIGHT, numbers(6)), tolerance=1024),
    call("convolution_input_gradient convolution_weight_gradient convolution",
         lambda t, x, w: t.nn.functional.conv_transpose2d(x, w, None, 2, 1),
         (numbers(2, 6, 3, 3), WEIGHT), tolerance=1024, label="conv_transpose2d"),
    call("max_pool max_pool_gradient",
         lambda t, x: t.nn.functional.max_pool2d(x, 3, 2, 1), (IMAGE,)),
    call("avg_pool avg_pool_gradient",
         lambda t, x: t.nn.functional.avg_pool2d(x, 3, 2, 1, True, False), (IMAGE,)),
    call("adaptive_avg_pool adaptive_avg_pool_gradient",
         lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, (4, 5)), (IMAGE,)),
    call("adaptive_max_pool max_pool_gradient",
         lambda t, x: t.nn.functional.adaptive_max_pool2d(x, (4, 5)), (IMAGE,)),
    call("resize resize_gradient",
         lambda t, x: t.nn.functional.interpolate(x, (9, 4), mode="bilinear"), (IMAGE,)),
    call("grid_sample grid_spread grid_slopes",
         lambda t, x, grid: t.nn.functional.grid_sample(x, grid, align_corners=False),
         (IMAGE, numbers(2, 3, 5, 2))),
    call("softmax softmax_gradient", lambda t, x: t.nn.functional.softmax(x, 1), (A,),
         (numbers(2, 3, 4),)),
    call("log_softmax log_softmax_gradient", lambda t, x: t.nn.functional.log_softmax(x, 0), (A,)),
    call("batch_norm_inference",
         lambda t, x, w, b, m, v: t.nn.functional.batch_norm(x, m.detach(), v.detach().abs(), w, b),
         (IMAGE, numbers(4), numbers(4), numbers(4), numbers(4)), tolerance=64),
    call("native_batch_norm native_batch_norm_backward",
         lambda t, x, w, b: t.nn.functional.batch_norm(x, None, None, w, b, True),
         (IMAGE, numbers(4), numbers(4, seed=1)), tolerance=1024),
    call("native_layer_norm native_layer_norm_backward",
         lambda t, x, w, b: t.nn.functional.layer_norm(x, (5,), w, b),
         (A, numbers(5), numbers(5, seed=1)), tolerance=1024),
    call("native_group_norm native_group_norm_backward",
         lambda t, x, w, b: t.nn.functional.group_norm(x, 2, w, b),
         (IMAGE, numbers(4), numbers(4, seed=1)), tolerance=1024),
    call("rms_norm rms_norm_backward", lambda t, x, w: t.nn.functional.rms_norm(x, (5,), w, 1e-5),
         (A, numbers(5)), tolerance=1024),
    *[call(f"{name} {name}_backward",
           lambda t, x, y, name=name: getattr(t.nn.functional, name)(x, y, reduction="none"),
           (A, numbers(3, 5, seed=1))) for name in ("smooth_l1_loss", "huber_loss")],
    call("nll_loss_forward nll_loss_backward",
         lambda t, x, y: t.nn.functional.nll_loss(x, y, reduction="none"),
         (A, integers(3, high=5))),
    call("cross_entropy_loss cross_entropy_loss_backward",
         lambda t, x, y: t.nn.functional.cross_entropy(x, y, reduction="none"),
         (A, integers(3, high=5)), (numbers(2, 5, 3), integers(2, 3, high=5))),
    call("cross_entropy_loss cross_entropy_loss_backward",
         lambda t, x, y: t.nn.functional.cross_entropy(x, y, ignore_index=2, label_smoothing=0.2),
         (A, integers(3, high=5)), (numbers(2, 5, 3), integers(2, 3, high=5)),
         label="cross_entropy_smoothed"),
    call("cross_entropy_loss cross_entropy_loss_backward",
         lambda t, x, y: t.nn.functional.cross_entropy(
             x, y, t.arange(1, 6).to(x.dtype), label_smoothing=0.2),
         (A, integers(3, high=5)), (numbers(2, 5, 3), integers(2, 3, high=5)),
         label="cross_entropy_smoothed_and_weighed"),
    call("ctc_loss ctc_loss_backward",
         lambda t, x: t.nn.functional.ctc_loss(
             x.log_softmax(-1), t.tensor([[1, 1], [2, 3]]), (6, 4), (2, 2), reduction="none"),
         (numbers(6, 2, 5),), second=False, tolerance=1024),
    call("lstm lstm_backward", recurrent("LSTM"),
         (numbers(3, 2, 5), numbers(12, 5, seed=1), numbers(12, 3, seed=2)), tolerance=1024),
    call("gru gru_backward", recurrent("GRU"),
         (numbers(3, 2, 5), numbers(9, 5, seed=1), numbers(9, 3, seed=2)), tolerance=1024),
    call("rnn rnn_backward", recurrent("RNN"),
         (numbers(3, 2, 5), numbers(3, 5, seed=1), numbers(3, 3, seed=2)), tolerance=1024),
    call("embedding embedding_dense_backward",
         lambda t, w, i: t.nn.functional.embedding(i, w, 1), (A, integers(4, high=3))),
    call("embedding_bag embedding_bag_dense_backward embedding_bag_per_sample_weights_backward",
         lambda t, w, i, f: t.nn.functional.embedding_bag(i, w, mode="sum", per_sample_weights=f),
         (A, integers(2, 4, high=3), numbers(2, 4, seed=4)), second=False),
    call("embedding_bag_max_indices",
         lambda t, w, i: t.nn.functional.embedding_bag(i, w, mode="max"),
         (A, integers(2, 4, high=3))),
    call("scaled_dot_product_attention scaled_dot_product_attention_backward",
         lambda t, q, k, v: t.nn.functional.scaled_dot_product_attention(q, k, v),
         (numbers(2, 2, 5, 4), numbers(2, 2, 6, 4), numbers(2, 2, 6, 3, seed=2)),
         tolerance=1024),
    call("scaled_dot_product_attention", _masked_attention,
         (numbers(2, 2, 5, 4), numbers(2, 2, 6, 4), numbers(2, 2, 6, 4, seed=2), numbers(5, 6)),
         tolerance=1024, label="attention_with_mask"),
    call("native_batch_norm", lambda t, x: t.nn.functional.instance_norm(x),
         (IMAGE,), tolerance=1024, label="instance_norm"),
]  # fmt: skip
