"""`mindtorch insight`, and what `mindtorch run --insight` records."""
