"""What users hand in, made into arrays and checked: on the host, and on the device in the stream."""
