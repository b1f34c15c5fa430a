"""The suite on events: logs (``su.Events``), samples of them, paths and walks, and windows that keep one."""
