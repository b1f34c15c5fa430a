"""Storage backends that come with suricate; each registers through the plugin hooks."""
