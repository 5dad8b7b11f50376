"""How exact products of libraries have to be: switches that a program sets before or after a device
is used, and that the devices' kernels read at each call."""

from __future__ import annotations

# float32 products may round their factors to tf32; float16 products may be added in float16
tf32 = False
float16_sums = False
# convolutions may be cuDNN's, and their float32 factors rounded to tf32
cudnn = True
cudnn_tf32 = True
