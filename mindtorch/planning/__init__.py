"""Memory and time of a model's training step over many processes, predicted from one process."""
