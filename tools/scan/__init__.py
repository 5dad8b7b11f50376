"""`mindtorch scan`: which names of torch, torchvision and mindspore a code base uses, and which of
them mindtorch has. Reads, and runs nothing."""
