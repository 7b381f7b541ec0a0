"""The Hadamard product in place of the tensor product: what it keeps of v ⊗ r, and of fillers."""
