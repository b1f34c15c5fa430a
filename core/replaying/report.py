"""The numbers by which the compiled loop and the host understand each other."""

NOTHING, INSERT, DELETE = 0, 1, 2  #: kinds of events; NOTHING: a self-loop that is dropped, or an edge at unknown names

#: places of the report: why the run ended, the most work of an event and which that was, edges inserted and deleted
WHY, MOST, MOST_AT, ADDED, TAKEN = range(5)
OVER, FULL, REFUSED = range(3)  #: why a run ended: the events are over, memory is short, the step refused an event
