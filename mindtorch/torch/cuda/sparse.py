"""Names of sparse tensor types on CUDA; making one raises TypeError, as in a build for the CPU."""

from . import _tensor_type

BFloat16Tensor = _tensor_type("BFloat16Tensor", "torch.cuda.sparse")
ByteTensor = _tensor_type("ByteTensor", "torch.cuda.sparse")
CharTensor = _tensor_type("CharTensor", "torch.cuda.sparse")
DoubleTensor = _tensor_type("DoubleTensor", "torch.cuda.sparse")
FloatTensor = _tensor_type("FloatTensor", "torch.cuda.sparse")
HalfTensor = _tensor_type("HalfTensor", "torch.cuda.sparse")
IntTensor = _tensor_type("IntTensor", "torch.cuda.sparse")
LongTensor = _tensor_type("LongTensor", "torch.cuda.sparse")
ShortTensor = _tensor_type("ShortTensor", "torch.cuda.sparse")
