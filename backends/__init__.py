"""Storage engines that come with suricate; each registers through the plugin hooks."""
