"""A cluster to try things on: the Kubernetes API in memory, on loopback only, with a fleet of GPU nodes."""
