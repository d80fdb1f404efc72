"""The pages of the site: one module a page, each with `router`."""
