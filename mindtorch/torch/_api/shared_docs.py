"""What arguments mean that many functions of torch's namespace share; see ``_docstrings.py``."""

from __future__ import annotations

from mindtorch._docstrings import ArgumentTexts

_FACTORIES = """
dtype: the result's type; None for the usual one: that of the data or number given, or of the
    tensor to be like, otherwise the default type (int64 for indices and random integers).
device: where the result is; None for the default device.
layout: ``torch.strided``; others are refused.
requires_grad: whether autograd follows the result.
pin_memory: put it into page-locked memory; needs CUDA.
memory_format: in which order of memory the axes lie.
size, sizes: the result's shape, as numbers or as one sequence.
out: a tensor that is given the result, and returned.
"""
_AXES = """
dim: the axis, negative ones counting from the end.
index: whole numbers, places along ``dim``.
accumulate: add to what is there; otherwise the last one written counts.
include_self: whether what is there takes part.
"""
_WINDOWS_OF_POOLING = """
kernel_size: lengths of a window; a number for all axes.
stride: steps from window to window; None for ``kernel_size``, so that they stand side by side.
padding: places added at both ends of each axis, which win no maximum and count 0 in a sum.
dilation: distance of a window's neighbouring places.
ceil_mode: also take the last window where it sticks out behind.
count_include_pad: whether padded places count in the mean's divisor.
divisor_override: a divisor in place of the window's size.
return_indices: return also the place of each maximum, counted over the spatial axes.
output_size: lengths of the result's spatial axes; a number for all of them.
output_ratio: the result's lengths as parts of the input's; this or ``output_size`` is given.
norm_type: the power ``p``.
"""
_CONVOLUTIONS = """
in_channels, out_channels: channels of input and result.
kernel_size: lengths of the kernel; a number for all axes.
stride: steps of the kernel; of a transposed convolution, distances of the input's places.
padding: places added at both ends of each axis; a convolution also takes "same" and "valid".
dilation: distance of the kernel's neighbouring places.
groups: into how many parts the channels are divided, each of which is convolved by itself.
bias: whether a bias is added to each channel of the result.
padding_mode: what stands in the padding: "zeros", "reflect", "replicate" or "circular".
output_padding: places added at the result's end.
"""
_NORMALIZATION = """
num_features: channels, axis 1 of the input.
eps: added to the variance before the root is taken.
momentum: weight of a batch in the running statistics; None for the mean over all batches.
affine: whether each channel has a weight and a bias to be learned.
bias: whether there is a bias beside the weight.
track_running_stats: whether mean and variance of the batches are kept for evaluation.
"""
_RECURRENT = """
input_size, hidden_size: features of the input and of the state.
num_layers: layers on top of each other.
bias: whether biases are added.
batch_first: axes are (batch, time, features), not (time, batch, features).
dropout: chance of an element to be zeroed between layers in training.
bidirectional: also run backwards, and join both results.
proj_size: features that the state is projected to; 0 for no projection.
nonlinearity: "tanh" or "relu".
"""
_TRANSFORMERS = """
d_model: features of a position.
nhead: heads of attention.
dim_feedforward: features between the two linear layers.
dropout: chance of an element to be zeroed in training.
activation: "relu", "gelu" or a function, between the two linear layers.
layer_norm_eps: ``eps`` of the normalisations.
batch_first: axes are (batch, position, features), not (position, batch, features).
norm_first: normalise before attention and linear layers, not after them.
bias: whether linear layers and normalisations have biases.
num_encoder_layers, num_decoder_layers: layers of each.
custom_encoder, custom_decoder: modules in place of the usual ones.
encoder_layer, decoder_layer: the layer that is copied ``num_layers`` times.
"""

TEXTS = ArgumentTexts({
    "torch": """
input, tensor: a tensor.
other: the second tensor (or a number, in operations on elements).
tensors: tensors, one by one or as one sequence.
out: a tensor (a tuple of them where there are several results) that is given the result.
dim: the axis, negative ones counting from the end.
dim0, dim1, dim2: the axes that are exchanged, or hold the diagonal.
keepdim: whether a folded axis stays, with length 1.
generator: where random numbers are drawn from; None for the default generator.
memory_format: the order of the axes in memory.
offset: which diagonal: 0 for the main one, above it where positive, below it where negative.
A: matrices, of shape (..., m, n).
mat1, mat2: matrices.
upper: whether the upper triangle counts, not the lower one.
hermitian: the matrices equal their conjugate transposes; only one triangle is read.
unbiased, correction: the divisor is the number of elements less ``correction``; ``unbiased`` is
    its older spelling, True for 1 and False for 0.
rounding_mode: None, "trunc" or "floor".
non_blocking: with CUDA, do not wait for the copy.
equal_nan: whether nan equals nan.
rtol, atol: relative and absolute tolerance.
inplace: write the result over the input.
old: torch's older order of arguments, a number before the tensor.
size, sizes: lengths of the axes, as numbers or as one sequence.
dense_dim: None; values have no axes of their own.
function: what is decorated, or nothing.
eigenvectors, e, v, symmetric, tol: as torch had them.
name: what it is called.
indices_or_sections: into how many equal parts, or the places to cut at.
posinf, neginf: what replaces inf and -inf; None for the type's limits.
min, max: bounds.
value: a number.
mask: where it is True, elements are chosen.
tensor1, tensor2: tensors or numbers.
device_type: "cpu" or "cuda".
x, y: tensors.
dx: the distance of neighbouring points, where their places ``x`` are not given.
split_size: length of a piece; the last one may be shorter.
split_sizes: lengths of the pieces.
batch1, batch2: batches of matrices, (b, n, m) and (b, m, p).
vec2: the second vector.
right, side: whether equal elements are passed over ("right") or come after ("left").
out_int32: places as int32, not int64.
return_inverse, return_counts: also where each element went, and how many there were of each.
interpolation: between two elements: "linear", "lower", "higher", "midpoint" or "nearest".
descending: greatest first.
LU_data, LU_pivots: as :func:`lu` returns them.
niter: rounds of power iteration.
some: the thin form; otherwise the factor is square.
transpose: with the transpose of the matrix.
unitriangular: the diagonal is taken to be ones, and not read.
""",
    "torch.functions.creation": _FACTORIES,
    "torch.functions.random": _FACTORIES + """
input: a tensor.
p: the exponent, or the chance of a 1.
""",
    "torch.functions.sequences": _FACTORIES + """
row, col: the matrix's lengths.
offset: which diagonal bounds the triangle; 0 for the main one, above it where positive.
""",
    "torch.functions.windows": _FACTORIES + """
window_length: how many values.
""",
    "torch.functions.from_data": _FACTORIES + """
options: ``dtype``, ``device``, ``requires_grad``, ``pin_memory``, as of :func:`empty`.
offset: bytes to skip.
count: how many elements; -1 for all.
""",
    "torch.functions.indexing": _AXES,
    "torch.functions.combinations": """
end, weight: where to, and which part of the way.
""",
    "torch.functions.foreach": """
weight: which part of the way.
""",
    "torch.linalg._norms": """
dim: the axis or axes, negative ones counting from the end; all where left out.
""",
    "torch.functions.gathering": _FACTORIES + _AXES + """
input: a tensor.
row, col: the matrix's lengths.
""",
    "torch.functions.reduction": """
dim: the axis or axes that are folded, negative ones counting from the end; all where left out.
dtype: the type that ``input`` is cast to first, and so the result's.
p: the order of the norm.
""",
    "torch.functions.order_statistics": """
dim: the axis or axes that are folded, negative ones counting from the end; all where left out.
""",
    "torch.functions.scan": """
dtype: the type that ``input`` is cast to first, and so the result's.
""",
    "torch._tensor.autograd": """
retain_graph: keep what was saved, for another backward pass; None for ``create_graph``.
create_graph: record the pass itself.
inputs: add to the gradients of these only.
requires_grad: which of both.
""",
    "torch._compat.nn_function_aliases": """
reduction: 0 for each loss, 1 for their mean, 2 for their sum.
p: the chance to be zeroed.
train: whether elements are dropped; otherwise the input is returned.
generator: None; others are refused.
interpolation_mode: 0 bilinear, 1 nearest, 2 bicubic.
padding_mode: 0 for zeros outside, 1 for the border, 2 for reflection.
align_corners: whether -1 and 1 are the centres of the outer places, not their edges.
cudnn_enable, cudnn_enabled: of no effect here.
training, use_input_stats: take the batch's statistics, not the running ones.
normalized_shape: lengths of the last axes, over which mean and variance are taken.
running_mean, running_var: the running statistics, moved in place; None for none.
momentum: weight of the batch in the running statistics.
scale_grad_by_freq: divide a row's gradient by how often it was read.
sparse: leave the table's gradient in sparse form.
input1, input2: the two batches of vectors.
hx: the state, (batch, hidden).
w_ih, w_hh, b_ih, b_hh: weights and biases of input and state; None for no bias.
num_groups: into how many parts the channels are divided.
""",
    "torch._compat.native_norms": """
training: take the batch's statistics, not the running ones.
running_mean, running_var: the running statistics, moved in place; None for none.
momentum: weight of the batch in the running statistics.
weight, bias: for each channel (or place of the last axes); None for 1 and 0.
normalized_shape: lengths of the last axes, over which mean and variance are taken.
p: the chance to be zeroed.
train: whether elements are dropped.
N, C, HxW: samples, channels, and places of each channel.
""",
    "torch._compat.deprecated_functions": """
dim: the axes that are folded.
weight, bias: the kernel, and what is added to each channel; None for nothing.
stride, padding, dilation, groups, output_padding: as of :func:`torch.nn.functional.conv2d`.
transposed: the transposed convolution.
scale_grad_by_freq, sparse, per_sample_weights, include_last_offset, padding_idx: as of
    :func:`torch.nn.functional.embedding_bag`.
indices, offsets: rows to read, and where each bag begins among them.
""",
    "torch.sparse._creation": _FACTORIES + """
check_invariants: check that the indices make sense.
""",
    "torch.sparse._compressed_creation": _FACTORIES + """
check_invariants: check that the indices make sense.
ccol_indices, crow_indices: where each column (row) begins in the values.
row_indices, col_indices: the row (column) of each value.
values: (nnz, ...), what is stored, or (nnz, rows, columns, ...) of blocks.
size: just large enough when None.
""",
    "torch.nn": """
dtype, device: of parameters and buffers; None for the defaults.
inplace: write the result over the input.
bias: whether there is a bias.
reduction: "none" for each loss, "mean" or "sum" of them.
size_average, reduce: older spellings of ``reduction``, which win over it and warn.
ignore_index: a target that counts nothing.
label_smoothing: the part of each target that is spread over all classes.
upper, lower: bounds of the slope that is drawn in training.
training: whether the slope is drawn; otherwise it is the mean of both bounds.
log_input: the rates are ``exp(input)``; otherwise the input itself.
log_target: targets are logarithms, too.
swap: take the distance of positive and negative, where it is less than that of the anchor.
eps: a small number that keeps a divisor or an argument of the logarithm from being 0.
elementwise_affine: whether there is a weight (and a bias) to be learned.
in_features, out_features: features of input and result, the last axis.
size: lengths of the result's spatial axes.
scale_factor: how many times as long the spatial axes become; this or ``size`` is given.
align_corners: whether the outer places of both grids, not their edges, lie on one another.
recompute_scale_factor: take the factor from the rounded lengths.
num_embeddings, embedding_dim: rows and columns of the table.
padding_idx: a row that takes no gradient.
max_norm: rows that are read are scaled down to this norm first, in place.
norm_type: the order of the norm.
scale_grad_by_freq: divide a row's gradient by how often it was read.
sparse: leave the table's gradient in sparse form.
mode: how to interpolate: "nearest", "linear", "bilinear", "bicubic", "trilinear" or "area".
upscale_factor, downscale_factor: r.
num_groups, groups: into how many parts the channels are divided.
""",
    "torch.nn._functional_normalization": """
weight, bias: for each channel (or place of the last axes); None for 1 and 0.
running_mean, running_var: the running statistics, moved in place; None for none.
momentum: weight of the batch in the running statistics.
training, use_input_stats: take the batch's statistics, not the running ones.
normalized_shape: lengths of the last axes, over which mean and variance are taken.
p: the order of the norm.
""",
    "torch.nn._functional_linear": """
weight, bias: the matrix (out, in), and what is added; None for nothing.
""",
    "torch.nn._functional_dropout": """
p: the chance to be zeroed.
training: whether elements are dropped; otherwise the input is returned.
""",
    "torch.nn.modules.dropout": """
p: the chance to be zeroed.
""",
    "torch.nn.modules.loss": """
weight: a factor for each class; of a binary loss, for each element.
full: add the terms that do not depend on the input.
""",
    "torch.nn.modules.normalization": """
num_channels: channels, axis 1 of the input.
affine: whether there are a weight and a bias to be learned.
eps: added to the variance (or mean square) before the root is taken.
""",
    "torch.nn.modules.sparse": """
mode: "sum", "mean" or "max" of a bag's rows.
include_last_offset: the last offset is the end of the last bag.
""",
    "torch.nn._functional_pooling": _WINDOWS_OF_POOLING,
    "torch.nn._functional_unpooling": _WINDOWS_OF_POOLING,
    "torch.nn._functional_fractional": _WINDOWS_OF_POOLING,
    "torch.nn.modules.pooling": _WINDOWS_OF_POOLING,
    "torch.nn.modules.fractional": _WINDOWS_OF_POOLING,
    "torch.nn.modules.conv": _CONVOLUTIONS,
    "torch.nn.modules.padding": """
padding: places added before and behind each spatial axis, last axis first; a number for all.
value: what is put there.
""",
    "torch.nn.modules.reshaping": """
kernel_size: lengths of a block; a number for both axes.
stride: steps from block to block.
padding: zeros added at both ends of each axis.
dilation: distance of a block's neighbouring places.
output_size: height and width of the image.
""",
    "torch.nn.modules.batchnorm": _NORMALIZATION,
    "torch.nn.modules.rnn": _RECURRENT,
    "torch.nn.modules.recurrent": _RECURRENT,
    "torch.nn.modules.transformer": _TRANSFORMERS,
    "torch.nn.init": """
tensor: what is filled, in place.
a: the negative slope of the leaky ReLU that follows.
mode: "fan_in" keeps the variance forwards, "fan_out" backwards.
nonlinearity: the name of the function that follows, as :func:`calculate_gain` has it.
mean, std: of the normal distribution.
""",
    "torch.nn.utils": """
parameters: tensors, or one, that may have gradients.
foreach: accepted, changes nothing.
error_if_nonfinite: RuntimeError where the norm is no finite number.
norm_type: the order of the norm; inf for the largest absolute value.
max_norm: the norm that gradients are scaled down to.
module: the module that is changed.
name: the parameter's name in it.
eps: keeps the norm that is divided by from being 0.
""",
    "torch.fft": """
n: points; the input is cut or padded with zeros behind; None for the axis's length.
s: points along each axis of ``dim``; the input is cut or padded with zeros behind.
dim: the axis or axes, negative ones counting from the end.
norm: which direction is divided: "backward" (by n), "forward" (by n) or "ortho" (by sqrt(n)).
options: ``out``, ``dtype``, ``layout``, ``device``, ``requires_grad``, as of :func:`torch.empty`.
""",
    "torch.linalg": """
A: matrices, of shape (..., m, n).
check_errors: RuntimeError in place of an info that is not 0.
left: solve ``A X = B``, otherwise ``X A = B``.
pivot: exchange rows.
dtype: the type that the input is cast to first.
dim: the axis or axes, negative ones counting from the end.
tol: singular values up to it count as 0.
""",
    "torch.linalg._factorizations": """
A: matrices, of shape (..., m, n).
check_errors: RuntimeError in place of an info that is not 0.
UPLO: which triangle is read: "L" or "U".
pivot: exchange rows.
pivots: as the factorisation returned them.
""",
    "torch.optim": """
params: tensors, or dicts of them under "params" with options of their own.
lr: the learning rate, a number or a tensor of one element.
betas: decay rates of the running means of the gradient and of its square.
eps: added to the divisor.
weight_decay: how much of the parameter is added to its gradient.
decoupled_weight_decay: shrink the parameter by ``lr weight_decay`` instead.
maximize: go up, not down.
foreach, fused, capturable: kept in the groups for PyTorch's sake; which kernel runs a step does
    not depend on them.
differentiable: whether autograd follows a step.
cycle_momentum, base_momentum, max_momentum: whether momentum goes the other way round, and its
    bounds.
amsgrad: divide by the largest second moment so far.
optimizer: whose groups' rates are set.
last_epoch: the epoch to go on from; -1 for the beginning.
lr_lambda: a function of the epoch, or one for each group.
schedulers: schedules of the same optimizer.
""",
    "torch.optim._schedule_combined": """
eps: a change of the rate by less is not made.
""",
    "torch.distributions": """
validate_args: check parameters and values and raise ValueError; None for the class's default.
cache_size: 1 keeps the last pair of values, so that an inverse is exact and free; 0 keeps none.
probs, logits: chances or their logarithms (for two outcomes the log odds); one of them is given.
""",
    "torch.masked": """
mask: what counts, bool, broadcast to ``input``; None for everything.
dtype: the type that ``input`` is cast to first.
dim: the axis or axes, negative ones counting from the end; all where left out.
ord: the order of the norm.
""",
    "torch.sparse": """
dtype: the type that ``input`` is cast to first.
""",
    "torch.signal.windows": """
M: how many values.
sym: symmetric, for filters; False for one period of a periodic window.
options: ``dtype``, ``layout``, ``device``, ``requires_grad``, as of :func:`torch.empty`.
""",
    "torch.distributed": """
group: the processes that take part; None for all of them.
async_op: return a Work to wait for, at once.
group_src, group_dst: source and destination counted in ``group``; in place of ``src``, ``dst``.
src, dst: the process that gives and the one that receives, counted among all.
op: a ReduceOp.
tag: tells messages between the same two processes apart.
backend: of no effect on a group; all use the one connection between the processes.
pg_options, device_id: refused by :func:`init_process_group`, of no effect on further groups.
group_desc: a text about the group.
timeout: how long to wait before an error.
object_list: a list whose places are filled, or sent.
obj: any object that pickles.
device, use_batch: of no effect here, objects travel as bytes.
tensor: sent, or written over.
output, output_tensor: written over.
input_tensor: this process's part.
tensor_list, gather_list, output_tensor_list: tensors that are written over, by rank.
input_list, scatter_list, input_tensor_list: tensors for the processes, by rank.
""",
})  # fmt: skip
