"""Jobs whose source all ranks read: what each reads, what waits with each, and the names that they give together."""
