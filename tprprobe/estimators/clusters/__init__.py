"""Groups of vectors that lie together."""
