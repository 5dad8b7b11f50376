"""The front process: what accepts requests, queues them, and keeps workers running."""
