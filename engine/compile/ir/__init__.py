"""The intermediate representation: typed nodes, their verifier, a reference interpreter."""
