"""`mindtorch check`: what usually goes wrong in a training, looked for in its first steps."""
