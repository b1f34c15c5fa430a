"""The conformance kit compares the backend with a table of edges: see ``docs/plugins.md`` of suricate."""

from suricate_tutorial import TutorialStore

from suricate.testing import StoreConformance


class TestTutorialStore(StoreConformance):
    """Random operations, against a table of edges."""

    backend = TutorialStore
    memory_limited = False  # until it calls admit()
