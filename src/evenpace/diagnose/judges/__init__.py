"""Judgements that no pattern can make: each module has `judge(case)`, and all of them are discovered."""
