"""Old public words raise an error that names the new one."""

from __future__ import annotations

import inspect

import pytest

from suricate.base import renamed
from suricate.errors import ParameterError


@renamed.keywords(vertices="frontier=")
def pull(graph, frontier, *, reduce):
    if reduce is None:
        raise TypeError("its own")
    return graph, frontier, reduce


def test_an_old_keyword_names_the_new_one():
    with pytest.raises(ParameterError, match=r"pull\(vertices=\.\.\.\) is written frontier= now"):
        pull(1, vertices=2, reduce=3)
    assert pull(1, 2, reduce=3) == (1, 2, 3)
    assert list(inspect.signature(pull).parameters) == ["graph", "frontier", "reduce"]


def test_other_errors_stay_what_they_are():
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        pull(1, 2, reduce=3, other=4)
    with pytest.raises(TypeError, match="its own"):
        pull(1, 2, reduce=None)


def test_an_old_attribute_names_the_new_one():
    class Delta:
        def __getattr__(self, name):
            renamed.attribute("Delta", name, {"arc_list": "arcs(kind)"})

    with pytest.raises(AttributeError, match=r"Delta has no attribute 'arc_list'; it is written arcs\(kind\) now"):
        _ = Delta().arc_list
    with pytest.raises(AttributeError, match=r"Delta has no attribute 'other'$"):
        _ = Delta().other
    assert not hasattr(Delta(), "arc_list")
