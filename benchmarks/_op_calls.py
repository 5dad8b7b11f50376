"""What ``ops.py`` times: some 400 calls of the functions and methods that programs use most.

A call is an expression of ``torch``, ``F``, ``nn`` and of the tensors that :func:`named` makes.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import Any

import numpy as np

# (N, C, H, W), (N, T, C) and (N, heads, T, C) of so many elements
PICTURES = {10: (1, 1, 2, 5), 1_000: (2, 5, 10, 10), 1_000_000: (10, 10, 100, 100)}
SERIES = {10: (1, 2, 5), 1_000: (5, 10, 20), 1_000_000: (10, 100, 1000)}
HEADS = {10: (1, 1, 2, 5), 1_000: (2, 5, 10, 10), 1_000_000: (5, 8, 250, 100)}
MATRIX = {10: (2, 5), 1_000: (25, 40), 1_000_000: (1000, 1000)}
SIZES = tuple(MATRIX)

# these have gradients, which --back takes
DIFFERENTIABLE = {
    "arithmetic": """
        x + y; x - y; x * y; x / y; -x; x + 1; x * 2.0; 1 - x; x / 3; 1 / p; x ** 2; p ** 0.5;
        p ** y; torch.add(x, y); torch.add(x, y, alpha=2); torch.sub(x, y); torch.mul(x, y);
        torch.div(x, y); x.add(y); x.sub(y); x.mul(y); x.div(y); x.pow(2); torch.pow(x, 2);
        torch.multiply(x, y); x.subtract(y); m + v; m * c; torch.addcmul(x, x, y);
        torch.addcdiv(x, x, p); x.addcdiv(x, p, value=0.5); torch.lerp(x, y, 0.3);
        x.lerp(y, 0.3); torch.fmod(x, p); x % p; torch.maximum(x, y); torch.minimum(x, y);
        x.maximum(y); torch.atan2(x, y); torch.where(b, x, y); torch.where(b, x, 0.0);
        x.where(b, y); x.copysign(y); torch.rsub(x, 1); torch.hypot(x, y); torch.clone(x);
        x.clone()""",
    "elementwise": """
        torch.abs(x); x.abs(); torch.exp(x); x.exp(); torch.log(p); p.log(); torch.log1p(p);
        torch.log2(p); p.log10(); torch.sqrt(p); p.sqrt(); torch.rsqrt(p); p.rsqrt();
        torch.sin(x); x.sin(); torch.cos(x); x.cos(); x.tan(); torch.tanh(x); x.tanh();
        torch.sigmoid(x); x.sigmoid(); torch.square(x); x.square(); x.reciprocal(); torch.erf(x);
        x.erf(); torch.erfinv(u); torch.acos(u); torch.arcsin(u); torch.arctan(x); torch.neg(x);
        x.neg(); torch.clamp(x, -1, 1); x.clamp(min=0); x.clip(-1, 1); torch.clamp(x, max=0.5);
        x.nan_to_num(); torch.expm1(x); torch.sinh(x); torch.cosh(x); x.frac(); torch.relu(x);
        x.relu()""",
    "activations": """
        F.relu(x); F.leaky_relu(x, 0.2); F.elu(x); F.gelu(x); F.gelu(x, approximate='tanh');
        F.silu(x); F.softplus(x); F.logsigmoid(x); F.hardtanh(x); F.relu6(x); F.selu(x);
        F.sigmoid(x); F.hardswish(x); F.hardsigmoid(x); F.mish(x); F.softsign(x);
        F.prelu(x, one); F.tanh(x); F.glu(even); F.softmax(m, dim=-1); torch.softmax(m, 1);
        m.softmax(-1); F.softmax(m, dim=0); F.log_softmax(m, dim=-1); m.log_softmax(1);
        torch.log_softmax(m, 1); F.dropout(x, 0.5, False)""",
    "reductions": """
        torch.sum(x); x.sum(); m.sum(0); m.sum(1); m.sum(-1, keepdim=True); torch.mean(x);
        x.mean(); m.mean(0); m.mean(1); m.mean(-1, keepdim=True); torch.max(x); x.max();
        m.max(1); m.max(0); torch.max(m, dim=1); x.min(); torch.min(x); m.min(1); x.norm();
        torch.norm(x); m.norm(dim=1); m.norm(p=1, dim=1); torch.linalg.norm(x);
        torch.linalg.vector_norm(x); x.prod(); m.prod(1); x.std(); m.std(1); torch.var(x);
        m.var(1, unbiased=False); torch.std_mean(x); torch.var_mean(m, 1); m.amax(1); m.amin(0);
        x.amax(); torch.logsumexp(m, 1); x.median(); m.median(1); x.nanmean(); torch.dist(x, y);
        x.cumsum(0); torch.cumsum(m, 1); m.cumprod(1); torch.trapezoid(x); x.quantile(0.5);
        x.diff()""",
    "shapes": """
        x.view(-1, 5); x.reshape(-1, 5); torch.reshape(x, (-1, 5)); m.t(); torch.t(m); m.T; m.mT;
        m.transpose(0, 1); torch.transpose(m, 0, 1); series.permute(0, 2, 1);
        torch.permute(series, (2, 0, 1)); x.unsqueeze(0); torch.unsqueeze(x, -1);
        x[None].squeeze(0); torch.squeeze(pictures); m.flatten(); torch.flatten(pictures, 1);
        x.expand(3, -1); x.expand_as(x); x.view_as(x); x.reshape_as(x); x.ravel();
        m.contiguous(); m.t().contiguous(); m.unbind(0)[0]; even.chunk(2); torch.chunk(even, 2);
        torch.split(x, 5); x.split_with_sizes([5, n - 5]); torch.tensor_split(x, 3);
        m.narrow(1, 0, 2); m.select(0, 1); torch.narrow(x, 0, 2, 3); x.unfold(0, 2, 2);
        x.unflatten(0, (-1, 5)); m.movedim(0, 1); m.swapaxes(0, 1); m.diag(); torch.diag(s);
        m.diagonal(); q.trace(); torch.tril(m); m.triu(); x.repeat(2); m.repeat(2, 1); x.tile(2);
        x.repeat_interleave(2); torch.repeat_interleave(x, 2, 0); x.flip(0); m.flip(1);
        torch.flip(x, (0,)); m.fliplr(); torch.roll(x, 1); m.roll(1, 1); torch.cat([x, y]);
        torch.cat([m, m], 1); torch.cat((m, m), dim=-1); torch.stack([x, y]);
        torch.stack((x, y), 1); torch.vstack([m, m]); torch.hstack([m, m]); torch.concat([x, y]);
        torch.unbind(m); torch.meshgrid(s, s, indexing='ij'); torch.outer(s, s);
        torch.block_diag(q, q); F.pad(x, (1, 1)); F.pad(pictures, (1, 1, 1, 1));
        F.pad(pictures, (1, 1, 1, 1), mode='reflect'); torch.view_as_complex(even.view(-1, 2));
        torch.rot90(m); torch.view_as_real(z); torch.real(z); z.conj(); z * z; z.abs();
        m.squeeze(0)""",
    "indexing": """
        x[3]; x[-1]; x[1:4]; x[::2]; x[None]; x[..., None]; m[0]; m[:, 0]; m[0, 1]; m[:, 1:];
        m[1:, :-1]; series[:, -1]; series[:, 0, :]; series[..., 0]; pictures[:, 0, 1]; x[i];
        m[rows]; m[:, columns]; m[rows, some]; x[b]; m[wide]; torch.gather(x, 0, i);
        m.gather(1, order); torch.index_select(x, 0, i); m.index_select(0, rows);
        m.index_select(1, columns); x.take(i); m.take_along_dim(order, 1); x.masked_fill(b, 0.0);
        x.masked_fill(b, -1e9); torch.masked_select(x, b); x.scatter(0, i, y);
        x.scatter_add(0, i, y); x.scatter_reduce(0, i, y, 'sum'); x.index_add(0, i, y);
        x.index_copy(0, every, y); F.embedding(i, table); x.index_fill(0, few, 0.0)""",
    "orders": """
        torch.sort(x); m.sort(1); x.topk(3); torch.topk(m, 2, dim=1);
        m.sort(dim=-1, descending=True); m.kthvalue(1, 1); torch.cummax(m, 1)""",
    "products": """
        m @ m.t(); torch.matmul(m, w); torch.mm(m, w); m.matmul(w); torch.bmm(series, weights);
        torch.einsum('ij,jk->ik', m, w); torch.einsum('btc,cd->btd', series, ws); x.dot(y);
        torch.dot(x, y); m.mv(v); torch.addmm(v, m, w); F.linear(m, w); F.linear(m, w, v);
        torch.baddbmm(series, series, weights); torch.cdist(q, q);
        torch.cross(thirds, thirds, dim=1); F.linear(series, ws)""",
    "layers": """
        F.layer_norm(m, v.shape, v, v); F.layer_norm(series, series.shape[-1:]);
        F.rms_norm(m, v.shape, v); F.group_norm(pictures, 1); F.instance_norm(wider);
        F.batch_norm(m, v, p_row, v, v); F.batch_norm(m, None, None, v, v, True);
        F.batch_norm(pictures, None, None, None, None, True); F.normalize(m, dim=1);
        F.cosine_similarity(m, m, dim=1); F.max_pool2d(wider, 2); F.avg_pool2d(wider, 2);
        F.adaptive_avg_pool2d(pictures, 1); F.adaptive_max_pool2d(wider, 2);
        F.max_pool1d(even[None], 2); F.avg_pool1d(even[None], 2);
        F.conv2d(wider, kernels, padding=1); F.conv1d(x[None], line, padding=1);
        F.conv_transpose2d(wider, kernels); F.interpolate(pictures, scale_factor=2);
        F.interpolate(wider, scale_factor=2, mode='bilinear');
        F.interpolate(wider, size=(4, 4), mode='bilinear', align_corners=False);
        F.scaled_dot_product_attention(heads, heads, heads); F.pixel_shuffle(shuffled, 2);
        F.unfold(wider, 2); F.affine_grid(angles, shape, align_corners=False);
        F.grid_sample(wider, grid, align_corners=False); F.one_hot(classes, 5); linear(m);
        norm(m); F.cross_entropy(m, classes); F.nll_loss(m, classes); F.mse_loss(x, y);
        F.l1_loss(x, y); F.smooth_l1_loss(x, y); F.huber_loss(x, y);
        F.kl_div(x, u, reduction='batchmean'); F.binary_cross_entropy(u, u.detach());
        F.binary_cross_entropy_with_logits(x, u.detach()); F.margin_ranking_loss(x, y, sign);
        F.cross_entropy(m, classes, label_smoothing=0.1); F.mse_loss(x, y, reduction='sum');
        F.triplet_margin_loss(m, m, m); F.cosine_embedding_loss(m, m, one_row)""",
}

OTHERS = {
    "facts": """
        x.size(); x.size(0); x.shape; x.numel(); torch.numel(x); x.dim(); x.ndim; x.dtype;
        x.device; x.is_contiguous(); x.stride(); x.data_ptr(); x.element_size(); x.requires_grad;
        x.is_floating_point(); torch.is_floating_point(x); torch.is_complex(x);
        torch.is_tensor(x); x.data; x.detach(); x.get_device(); x.is_cuda; x.nelement();
        scalar.item(); x.tolist(); x.numpy(); len(x); float(scalar); bool(scalar); int(scalar);
        x.storage_offset(); x.cpu(); x.requires_grad_(False); x.untyped_storage(); x.type();
        torch.equal(x, x2); torch.allclose(x, x2); x.equal(y); x.allclose(y);
        torch.get_default_dtype(); torch.is_grad_enabled(); torch.finfo(torch.float32).eps;
        torch.cuda.is_available()""",
    "making": """
        torch.zeros(n); torch.ones(n); torch.empty(n); torch.full((n,), 2.0);
        torch.zeros_like(x); torch.ones_like(x); torch.empty_like(x); torch.full_like(x, 2.0);
        torch.arange(n); torch.arange(0, n, 2); torch.arange(n, dtype=torch.float32);
        torch.linspace(0, 1, n); torch.logspace(0, 1, n); torch.eye(r); x.new_zeros(n);
        x.new_ones(n); x.new_full((n,), 1.0); x.new_empty(n); x.new_tensor([1.0, 2.0]);
        torch.tensor([1.0, 2.0, 3.0]); torch.tensor(1.0); torch.tensor([[1, 2], [3, 4]]);
        torch.as_tensor(array); torch.from_numpy(array); torch.tensor(array);
        torch.hann_window(n); torch.zeros(n, dtype=torch.long); torch.zeros(r, r); torch.rand(n);
        torch.randn(n); torch.randint(0, 10, (n,)); torch.randperm(n); torch.rand_like(x);
        torch.randn_like(x); torch.normal(0.0, 1.0, (n,)); torch.bernoulli(u);
        torch.multinomial(u_row, 3); torch.randint_like(k, 10); F.dropout(x, 0.5);
        torch.polar(p, x); torch.triu_indices(r, r); torch.combinations(few);
        torch.cartesian_prod(s, s)""",
    "types": """
        x.to(torch.float32); x.to(torch.float64); x.to('cpu'); x.to(torch.int64); x.float();
        x.double(); x.half(); x.long(); x.int(); x.bool(); x.byte(); x.type_as(x); k.float();
        k.double(); b.float(); b.long(); b.int(); x.bfloat16(); h.float(); x.type(torch.float64);
        x.to(h)""",
    "comparisons": """
        x == y; x != y; x < y; x > 0; x >= 0.5; x.eq(y); x.gt(0); x.ge(y); torch.gt(x, y);
        x.lt(y); torch.eq(x, y); torch.isnan(x); x.isnan(); torch.isfinite(x); torch.isinf(x);
        torch.isclose(x, y); b & b2; b | b2; ~b; b ^ b2; torch.logical_and(b, b2);
        torch.logical_not(b); b.logical_or(b2); b.any(); b.all(); torch.any(b); torch.all(b);
        wide.any(1); wide.all(1); b.sum(); torch.bitwise_and(k, k); x.sign(); torch.sign(x);
        torch.floor(x); x.ceil(); x.round(); torch.round(x); x.floor(); x.trunc(); x // p;
        k // 3; k % 3; torch.isin(k, few); k.gcd(k); k + k; k * 2; k + 1; k == 3; k.sum();
        k.max(); h + h; h * 2; h.sum(); h.relu()""",
    "orders and places": """
        x.argmax(); m.argmax(1); torch.argmax(m, dim=1); x.argmin(); torch.argmax(m, -1);
        m.argmax(0); x.argsort(); torch.argsort(m, dim=1); x.nonzero(); torch.nonzero(b);
        b.argwhere(); torch.where(b); k.unique(); torch.unique(k, return_counts=True);
        k.unique_consecutive(); torch.bucketize(x, ticks); torch.searchsorted(ticks, x);
        k.bincount(); x.histogram(10); torch.histc(x, 10); torch.tril(q) == 0""",
    "factorizations": """
        torch.linalg.inv(spd); torch.inverse(spd); torch.linalg.det(spd);
        torch.linalg.solve(spd, vector); torch.linalg.qr(spd); torch.linalg.cholesky(spd);
        torch.linalg.eigh(spd); torch.linalg.svd(spd); torch.linalg.pinv(spd);
        torch.linalg.solve_triangular(spd, spd, upper=True); torch.linalg.lstsq(spd, spd);
        torch.fft.fft(x); torch.fft.rfft(m); torch.fft.fft2(m)""",
    "in place": """
        d.add_(y); d.sub_(y); d.mul_(1.0); d.div_(1.0); d.add_(y, alpha=0.1); d.zero_();
        d.fill_(1.0); d.copy_(x); d.clamp_(-1, 1); d.clamp_(min=0); d.relu_();
        d.masked_fill_(b, 0.5); d.addcmul_(x, y, value=0.1); d.addcdiv_(x, p, value=0.1);
        d.lerp_(x, 0.1); d.uniform_(); d.normal_(); d.abs_(); d.sqrt_(); d.exp_(); d.neg_();
        d.sigmoid_(); d.tanh_(); d.pow_(2); d.round_(); d.floor_(); d.sign_(); d.random_(10);
        d.bernoulli_(0.5); d.scatter_(0, i, y); d.scatter_add_(0, i, y); d.index_add_(0, i, y);
        d.index_copy_(0, every, y); d.scatter_reduce_(0, i, y, 'sum'); d.detach_();
        d.unsqueeze_(0).squeeze_(0); F.relu_(d); F.elu_(d); F.leaky_relu_(d); torch.relu_(d);
        e.fill_diagonal_(1.0); e.triu_(); d.erfinv_(); d.rsqrt_(); d.ge_(0.5);
        nn.init.constant_(d, 1.0); nn.init.zeros_(d); nn.init.normal_(d); nn.init.uniform_(d);
        nn.init.xavier_uniform_(e); nn.init.kaiming_normal_(e); nn.init.trunc_normal_(d);
        put(d, 3, 1.0); put(d, slice(2, 5), 0); put(d, b, 0.0); put(d, i, y);
        put(e, (slice(None), 1), column); put(e, 0, 1.0)""",
}


def put(x: Any, index: Any, value: Any) -> None:
    x[index] = value


def named(torch: Any, call: str, size: int, tracked: bool = False) -> dict[str, Any]:
    """What a call names, at ``size`` elements each; tensors of floats require gradients where
    they are ``tracked``."""
    draw = np.random.default_rng(0)
    r, c = MATRIX[size]
    root, heads, series, pictures = isqrt(size), HEADS[size], SERIES[size], PICTURES[size]
    wider = (*pictures[:2], max(pictures[2], 4), max(pictures[3], 4))
    few, edge = max(1, root // 2), min(root, 200)  # matrices of edge x edge are factorized

    def plain(data: Any) -> Any:
        return torch.from_numpy(np.ascontiguousarray(data)).clone()  # in memory as it takes it

    def leaf(data: Any) -> Any:
        return plain(np.asarray(data, np.float32)).requires_grad_(tracked)

    def normal(*shape: int) -> Any:
        return leaf(draw.standard_normal(shape, np.float32))

    def between(low: float, high: float, *shape: int) -> Any:
        return leaf(draw.uniform(low, high, shape))

    def whole(high: int, *shape: int) -> Any:
        return plain(draw.integers(0, high, shape))

    def positive() -> Any:
        square = draw.standard_normal((edge, edge))
        return leaf(square @ square.T + edge * np.eye(edge))

    makers: dict[str, Callable[[], Any]] = {
        "x": lambda: normal(size), "y": lambda: normal(size), "x2": lambda: normal(size),
        "even": lambda: normal(size), "s": lambda: normal(root), "q": lambda: normal(root, root),
        "m": lambda: normal(r, c), "w": lambda: normal(c, c), "v": lambda: normal(c),
        "c": lambda: normal(r, 1), "thirds": lambda: normal(max(1, size // 3), 3),
        "p": lambda: between(0.5, 2, size), "u": lambda: between(0.05, 0.95, size),
        "one": lambda: leaf([0.25]), "table": lambda: normal(size, 4),
        "series": lambda: normal(*series), "ws": lambda: normal(series[2], series[2]),
        "weights": lambda: normal(series[0], series[2], series[2]),
        "heads": lambda: normal(*heads), "pictures": lambda: normal(*pictures),
        "wider": lambda: normal(*wider), "kernels": lambda: normal(wider[1], wider[1], 3, 3),
        "line": lambda: normal(1, 1, 3), "angles": lambda: normal(1, 2, 3),
        "grid": lambda: between(-1, 1, wider[0], wider[2], wider[3], 2),
        "shuffled": lambda: normal(1, 4, few, few), "spd": positive,
        "vector": lambda: normal(edge), "h": lambda: normal(size).detach().bfloat16(),
        "z": lambda: torch.view_as_complex(normal(size, 2).detach()),
        "d": lambda: plain(draw.uniform(0.1, 1, size).astype(np.float32)),
        "e": lambda: torch.ones(r, c), "column": lambda: torch.ones(r),
        "p_row": lambda: between(0.5, 2, c).detach(),
        "u_row": lambda: between(0.1, 1, size).detach(), "one_row": lambda: torch.ones(r),
        "sign": lambda: torch.sign(normal(size).detach()),
        "b": lambda: plain(draw.random(size) < 0.5), "b2": lambda: plain(draw.random(size) < 0.5),
        "wide": lambda: plain(draw.random((r, c)) < 0.5), "i": lambda: whole(size, size),
        "k": lambda: whole(50, size), "every": lambda: plain(draw.permutation(size)),
        "few": lambda: torch.arange(3), "rows": lambda: whole(r, r), "columns": lambda: whole(c, c),
        "some": lambda: whole(c, r), "order": lambda: whole(c, r, c),
        "classes": lambda: whole(min(c, 5), r), "scalar": lambda: torch.tensor(1.5),
        "ticks": lambda: torch.linspace(-2, 2, 50),
        "array": lambda: draw.standard_normal(size, np.float32),
        "linear": lambda: torch.nn.Linear(c, 5), "norm": lambda: torch.nn.LayerNorm(c),
        "shape": lambda: (1, 1, root, root), "n": lambda: size, "r": lambda: r,
        "torch": lambda: torch, "nn": lambda: torch.nn, "F": lambda: torch.nn.functional,
        "put": lambda: put,
    }  # fmt: skip
    wanted = compile(call, call, "eval").co_names
    values = {name: make() for name, make in makers.items() if name in wanted}
    if "x2" in values:  # the elements of x
        values["x2"] = values["x"].detach().clone()
    return values


CALLS = {
    group: [each.strip() for each in text.split(";")]
    for group, text in {**DIFFERENTIABLE, **OTHERS}.items()
}
