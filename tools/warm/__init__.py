"""`mindtorch warm`: kernels compiled before they are needed."""
