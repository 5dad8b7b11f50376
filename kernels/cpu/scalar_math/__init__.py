"""Mathematics of one number for compiled loops, in float32 and float64."""
