"""What several algorithms use: parameters, checks, fixed-point iterations, hashes, references."""
