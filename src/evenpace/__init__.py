"""Keep large GPU training runs at full pace."""

__version__ = "0.1.0"
