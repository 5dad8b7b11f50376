"""torch.ao: only what packages import to offer quantised models."""
