"""The pool of threads, and how threads wait for one another."""
