"""Which architectures of the library transformers are read: each is built tiny and compared with the library itself."""
