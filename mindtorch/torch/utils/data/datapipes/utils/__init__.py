"""What pipes share: files, streams, functions of columns."""
