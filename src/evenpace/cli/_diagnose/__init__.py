"""What `evenpace diagnose` does, apart from its options."""
