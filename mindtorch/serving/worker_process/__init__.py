"""What runs in a worker process: models, their batches, the stages of methods."""
