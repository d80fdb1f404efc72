"""How `evenpace replay` shows what it found."""
