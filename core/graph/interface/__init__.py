"""How a graph presents itself: types of its calls, documentation, hints, completion, HTML."""
