"""`mindtorch certify` and `verify`: a recorded run that others can repeat."""
