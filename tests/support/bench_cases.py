"""What the tests of the benchmark share: fixtures of a backend, and tables as text."""

from rich.console import Console

from suricate.base.devices import CPU
from suricate.bench.fixtures import Fixture


def fixture_of(backend, data, device=CPU, **options):
    """Return a fixture of ``backend``, always with the same seed."""
    return Fixture(backend, data, device, seed=9, **options)


def text_of(*renderables):
    """Return what a wide console shows."""
    console = Console(width=220, record=True, file=open("/dev/null", "w"))  # noqa: SIM115 - closed with the process
    for renderable in renderables:
        console.print(renderable)
    return console.export_text()
