"""Reading and writing torch's files: archives, safe unpickling, storages, locations."""
