"""What arguments mean that many of MindSpore's functions share; see ``mindtorch/_docstrings.py``.

Where a function is torch's own, its docstring comes from ``mindtorch.torch``.
"""

from __future__ import annotations

from mindtorch._docstrings import ArgumentTexts

_WINDOWS = """
kernel_size: lengths of a window; a number for all axes.
stride: steps from window to window; None for ``kernel_size``.
padding: places added at both ends of each axis.
dilation: distance of a window's neighbouring places.
ceil_mode: also take the last window where it sticks out behind.
count_include_pad: whether padded places count in the mean's divisor.
divisor_override: a divisor in place of the window's size.
return_indices: return also the place of each maximum, counted over the spatial axes.
output_size: lengths of the result's spatial axes.
output_ratio: those lengths as parts of the input's; this or ``output_size`` is given.
norm_type: the order of the norm.
"""
_LOSSES = """
reduction: "none" for each loss, "mean" or "sum" of them.
weight: a factor for each class; of a binary loss, for each element.
pos_weight: a factor of the term of true labels.
ignore_index, ignore_label: a label that counts nothing.
label_smoothing: the part of each target that is spread over all classes.
logits, inputs: what the network gives.
labels, label, target: what is right.
"""

TEXTS = ArgumentTexts({
    "mindspore": """
input, x, input_x, tensor: a tensor.
other: the second tensor, or a number.
x1, x2: tensors, one of which may be a number.
axis, dim: the axis, negative ones counting from the end.
keep_dims, keepdims, keepdim: whether a folded axis stays, with length 1.
dtype: the result's type; None for the usual one.
seed: of this call's own generator; None for the default generator.
network, net: a cell.
optimizer: an optimizer of MindSpore's.
loss_fn: a cell or function of (output, label).
fn: a function of tensors.
grad_position: which arguments to derive by: a number, or several.
has_aux: ``fn`` returns more than what is derived.
weights: parameters whose gradients are wanted as well.
return_ids: give (position or name, gradient) pairs.
sens_param: the last argument is what the gradients start from.
eval_type: "classification" (one class each) or "multilabel".
ignore_label: a label that counts nothing; None for none.
verbose: print what is done.
""",
    "mindspore.train": """
eval_type: "classification" (one class each) or "multilabel".
integrated_save, async_save: True and False; others are refused.
enc_key, dec_key: None; files are not encrypted.
enc_mode, dec_mode: of no effect without a key.
remove_redundancy: False; True is refused.
ckpt_file_name: the file.
strict_load: float types must be the same; otherwise they are converted.
num_process: checked; one thread writes.
""",
    "mindspore.ops": _LOSSES + _WINDOWS + """
axis, dim: the axis or axes, negative ones counting from the end.
use_locking, use_lock: of no effect: writes are not shared between threads.
indices: whole numbers, the places.
size, shape: the result's shape.
tensors, inputs: tensors.
start, end: the first and the last value.
steps: how many values.
correction, ddof: the divisor is the number of elements less this.
descending: greatest first.
sorted: in order, which they always are.
right, side: whether equal elements are passed over.
out_int32: places as int32, not int64.
sorter: the places that sort it, where it is not sorted.
training: whether elements are dropped; otherwise the input is returned.
p: the order of the norm.
weight, bias: what the input is multiplied by, and what is added; None for nothing.
pad_mode: "valid" without padding, "same" for a result as long as the input, "pad" for ``padding``.
padding: places added at the ends of the axes; of a convolution only with ``pad_mode="pad"``.
stride: steps from window to window; of a pooling, None for ``kernel_size``.
groups: into how many parts the channels are divided.
segment_ids: the segment of each slice along the first axis.
num_segments: how many segments there are.
A: matrices.
ord: the order of the norm.
group: the processes that take part.
op: "sum", "max", "min" or "prod".
window_length: how many values.
periodic: one period, without the last of a symmetric window that is longer by one.
block_shape: lengths of a block.
row, col: the matrix's lengths.
offset: which diagonal; 0 for the main one, above it where positive.
n: how many points.
d: the distance between points.
eps, epsilon: keeps a divisor from being 0.
swap: take the distance of positive and negative, where it is less than that of the anchor.
minlength: the result has at least so many places.
fweights, aweights: how often each sample is there, and its weight.
num_samples, num_sample: how many to draw.
replacement: a place may be drawn again.
paddings: (before, behind) for each axis.
stddev, lambda_param: how wide the distribution is.
minval, maxval: the limits.
lower, upper: bounds of the slope that is drawn in training.
repeats: how often each.
dims: counts for the axes.
dx: the distance of neighbouring points, where their places ``x`` are not given.
y: a tensor.
chunks: how many.
split_size_or_sections: the length of a piece, or the lengths of all.
approximate: "none", or "tanh".
mode: how to interpolate, as "nearest" or "bilinear".
scale_factor: how many times as long the spatial axes become; this or ``size`` is given.
align_corners: whether the outer places of both grids, not their edges, lie on one another.
recompute_scale_factor: take the factor from the rounded lengths.
padding_idx: a row that takes no gradient.
max_norm: rows that are read are scaled down to this norm first, in place.
scale_grad_by_freq: divide a row's gradient by how often it was read.
obj: anything.
indexing: "xy" or "ij": which axis the first coordinate lies along.
""",
    "mindspore.ops.losses": _LOSSES,
    "mindspore.ops.neural": """
weight: a factor for each class.
""",
    "mindspore.nn.dynamic_lr": """
learning_rate: the rate to begin with.
""",
    "mindspore.nn.learning_rate_schedule": """
learning_rate: the rate to begin with.
""",
    "mindspore.numpy": """
a, x, m, arr, ary, prototype, element, test_elements, v, f: a tensor, or what makes one.
x1, x2, a1, a2, b, y, ar1, ar2, values: a tensor, a number, or what makes a tensor.
arrays, tup, arys, xi: tensors, or what makes them.
array: a tensor, or what makes one.
axis: the axis, negative ones counting from the end; None for all elements in a row.
axis1, axis2: the two axes, negative ones counting from the end.
offset: which diagonal; 0 for the main one, above it where positive.
step: the distance of neighbours.
shift: by how many places, for each axis.
axes: the axes.
rtol, atol: relative and absolute tolerance.
shape, new_shape: lengths of the axes.
start, stop: the first and the last value.
num: how many values.
endpoint: whether ``stop`` is the last one.
k: which diagonal; 0 for the main one, above it where positive.
ddof: the divisor is the number of elements less this.
initial: a value that takes part in the result.
indices_or_sections: into how many equal parts, or the places to cut at.
side: "left" before equal elements, "right" behind them.
right: whether a bin holds its right edge, not its left one.
sorter: the places that sort it, where it is not sorted.
indices: whole numbers, the places.
invert: whether it is not among them.
assume_unique: neither has equal elements.
decimals: places behind the point.
M: how many values.
p: coefficients, the highest power first.
indexing: "xy" or "ij": which axis the first coordinate lies along.
type1, type2: element types.
fill_value: every element.
condlist: conditions, bool tensors.
range: the least and greatest value.
bins: how many of equal width, or their edges.
weights: what each element counts, in place of 1.
minlength: the result has at least so many places.
fweights, aweights: how often each sample is there, and its weight.
bias: divide by the number of samples, not one less.
rowvar: whether a row is a variable, not a column.
equal_nan: whether nan equals nan.
n: how many.
mode: how places outside are taken, or how much of a convolution is given.
order: "C" or "F": which axis runs fastest, the last or the first.
""",
    "mindspore.nn": _LOSSES + _WINDOWS + """
weight_init, bias_init, gamma_init, beta_init, moving_mean_init, moving_var_init: initial values:
    an initializer, its name, a number or a tensor.
has_bias: whether there is a bias.
learning_rate: a number, one for each step, or a schedule.
params: parameters, or dicts of them under "params" with options of their own.
weight_decay: how much of a parameter is added to its gradient.
loss_scale: what gradients are divided by.
use_locking: of no effect.
use_nesterov: look ahead along the momentum.
beta1, beta2: decay rates of the running means of the gradient and of its square.
eps, epsilon: keeps a divisor from being 0.
momentum: weight of what was there in a running mean.
in_channels, out_channels: channels of input and result.
pad_mode: "valid" without padding, "same" for a result as long as the input, "pad" for ``padding``.
group: into how many parts the channels are divided.
data_format: "NCHW", or a like order of axes.
num_features: channels, axis 1 of the input.
affine: whether there are gamma and beta to be learned.
use_batch_statistics: take the batch's statistics; None: in training.
bidirectional: also run backwards, and join both results.
batch_first: axes are (batch, time, features), not (time, batch, features).
dropout: chance of an element to be zeroed in training.
num_layers: layers on top of each other.
input_size, hidden_size: features of the input and of the state.
auto_prefix, flags: as of :class:`Cell`.
decay_rate: the factor of one decay.
decay_epoch: the length of a decay, in epochs.
decay_steps: the length of a decay, in steps.
end_learning_rate: the last rate.
update_decay_epoch, update_decay_steps: begin a further decay, to a multiple of the length, when
    one has ended.
is_stair: change at the ends of decays only.
step_per_epoch, total_step, warmup_steps: numbers of steps.
maximize: go up, not down.
p: the chance to be zeroed.
unflattened_size: the lengths of the axes in its place.
align_corners: whether the outer places of both grids, not their edges, lie on one another.
recompute_scale_factor: take the factor from the rounded lengths.
num_groups: into how many parts the channels are divided.
num_channels: channels, axis 1 of the input.
d_model: features of a position.
nhead: heads of attention.
num_encoder_layers, num_decoder_layers: layers of each.
dim_feedforward: features between the two linear layers.
activation: "relu", "gelu" or a function, between the two linear layers.
layer_norm_eps: ``epsilon`` of the normalisations.
norm_first: normalise before attention and linear layers, not after them.
norm: a normalisation of the last layer's output; None for none.
nonlinearity: "tanh" or "relu".
options: as of :class:`RNN`.
approximate: by the formula with a hyperbolic tangent.
output_padding: places added at the result's end.
loss_scale_value: the scale to begin with.
""",
    "mindspore.dataset": """
num_samples: how many to read; None for all.
num_parallel_workers, python_multiprocessing: named in a warning: rows are made in turn.
cache, decrypt, schema: None; others are refused.
shuffle: in random order.
sampler: gives the places to read; in place of ``shuffle``.
num_shards, shard_id: into how many parts the data is divided, and which one is read.
dataset_dir: the folder.
usage: which part: "train", "test" or "all".
decode: read images as arrays, not as bytes.
""",
})  # fmt: skip
