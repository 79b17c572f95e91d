"""Which files of these pages hold doctests: the Markdown ones."""

collect_ignore_glob = ["*.py", "_build/*", "api/*", "gallery/*"]
