"""`python -m evenpace`."""

from evenpace.cli import main

main()
