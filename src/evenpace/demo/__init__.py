"""The demo: a real training under watch, one node slowed, another hung, and what evenpace said."""
