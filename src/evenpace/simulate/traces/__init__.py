"""Recorded traces: the layout of what-if analyses (CSV, Parquet) and the run folders of evenpace."""
