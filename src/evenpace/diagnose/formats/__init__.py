"""What log lines look like: who printed them, when, and what they report."""
