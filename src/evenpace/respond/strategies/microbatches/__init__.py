"""Uneven micro-batches: a slow replica gets fewer of them (S2)."""
