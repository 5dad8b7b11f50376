"""`mindtorch watch`: conditions on tensors and steps while a script trains."""
