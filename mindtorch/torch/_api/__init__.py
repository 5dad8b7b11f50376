"""How a function becomes public: signatures, out=, methods, autocast, call caching."""
