"""What rows depend on besides the code: the device's bandwidth, its waits, cores, the environment."""
