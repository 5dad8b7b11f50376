"""Functions over functions; here those that libraries import."""
