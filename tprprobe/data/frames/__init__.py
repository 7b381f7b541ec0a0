"""Minimal pairs from a small grammar: one TOML file a frame, words of their lists in `words.toml`."""
