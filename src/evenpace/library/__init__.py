"""The incident library: what happened to others, as records, searchable in English and Korean."""
