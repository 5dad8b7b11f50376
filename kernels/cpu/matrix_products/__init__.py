"""Matrix products: forms, tiles, the table that chooses among them, and OpenBLAS."""
