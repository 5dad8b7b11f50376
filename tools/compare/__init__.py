"""`mindtorch compare`: one script under two libraries, and the first place where they differ."""
