"""Places by order: sorted rows, selection, and how often values occur."""
