"""Whether a model is being exported to ONNX: some functions then ask for less than they can do.

It lies apart from ``torch.onnx``, which is not imported until it is used.
"""

exporting_now = [False]
