"""torch.distributed.elastic: what of it scripts use in processes of torchrun."""
