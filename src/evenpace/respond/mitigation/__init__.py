"""Do something about a slow job without stopping it: what is known of it, the plans, and their effect."""
