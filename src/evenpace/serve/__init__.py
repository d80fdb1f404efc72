"""The library as a site and a JSON API: read-only, on this machine only by default."""
