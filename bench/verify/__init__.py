"""Independent answers that rows are verified against before they are timed."""
