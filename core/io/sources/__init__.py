"""Sources of events: files, arrays, frames and functions, chunk by chunk; ``suricate.stream`` has the public names."""
