"""What is timed: each module holds the tasks of one kind of work."""
