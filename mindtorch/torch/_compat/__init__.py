"""Names that torch has for older scripts and for libraries, and what is unsupported."""
