"""Programs of TorchScript: the code of an archive, read and run op by op."""
