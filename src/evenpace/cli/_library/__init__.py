"""What `evenpace library` does, one module a kind of command; imported only when it is used."""
