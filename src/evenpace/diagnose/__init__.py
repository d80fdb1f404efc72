"""Judges over logs: from the logs of a dead or slow job to the culprit, the cause and the next command."""
