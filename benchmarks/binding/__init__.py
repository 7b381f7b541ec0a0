"""A benchmark of binding: methods that look for roles and fillers, on vectors whose binding is known.

``python -m benchmarks.binding`` runs it. A file in ``subjects`` makes vectors and knows the answer, a file in
``methods`` looks for it, and neither knows the other.
"""
