"""Frontiers and the workspace: sets of vertices, counts that stay on the device, scratch arrays."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import suricate as su
from suricate.base.devices import Device
from suricate.errors import DeviceError, DTypeError, ShapeError, VertexRangeError
from suricate.state.frontier import DeviceCount, Frontier
from suricate.state.workspace import Workspace


def graph_of(device: Device, num_vertices: int) -> su.Graph:
    return su.Graph(num_vertices, device=device)


def members(frontier: Frontier) -> list[int]:
    return frontier.device.to_numpy(frontier.vertices).tolist()


@pytest.mark.parametrize("given", [[5, 1, 5, 0, 9], np.array([9, 5, 1, 0]), np.array([5, 0, 9, 1, 1], np.uint64)[::-1]])
def test_from_vertices_sorts_and_drops_repeats(device, given):
    frontier = graph_of(device, 10).frontier(given)
    assert members(frontier) == [0, 1, 5, 9]
    assert frontier.vertices.dtype == np.uint32
    assert len(frontier) == frontier.known_count == 4
    assert not frontier.is_all


def test_from_vertices_takes_arrays_of_the_device(device):
    given = device.xp.asarray(np.array([3, 2, 3], np.int32))
    assert members(graph_of(device, 4).frontier(given)) == [2, 3]


def test_one_vertex_and_none(device):
    assert members(graph_of(device, 8).frontier([7])) == [7]
    assert members(graph_of(device, 8).frontier(np.uint8(7))) == [7]
    for vertex in (0, 7, np.uint8(7)):
        assert members(graph_of(device, 8).frontier(vertex, trusted=True)) == [vertex]
    empty = graph_of(device, 8).frontier([])
    assert len(empty) == 0
    assert empty.vertices.dtype == np.uint32
    assert not empty.is_all


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ([0, 4], VertexRangeError, "is 4,"),
        ([-1, 2], VertexRangeError, "is -1,"),
        (np.array([2**63], np.uint64), VertexRangeError, str(2**63)),
        (np.array([2**32], np.int64), VertexRangeError, str(2**32)),
        ([1.0], DTypeError, "float64"),
        ([True], DTypeError, "bool: integers are needed; np.flatnonzero"),
        ([2**70], VertexRangeError, str(2**70)),
        ([[1]], ShapeError, "one-dimensional"),
        ("a", ShapeError, "one-dimensional"),
        (4, VertexRangeError, "is 4,"),
        (-1, VertexRangeError, "is -1,"),
        (True, ShapeError, "one-dimensional"),
        (2**70, VertexRangeError, str(2**70)),
    ],
)
def test_bad_vertices_are_refused(device, given, error, says):
    with pytest.raises(error, match=says):
        graph_of(device, 4).frontier(given)


def test_a_mask_of_all_vertices_says_which(device):
    graph, mask = graph_of(device, 5), np.array([0, 1, 0, 1, 1], bool)
    for given in (mask, mask.tolist(), device.xp.asarray(mask)):
        frontier = graph.frontier(given)
        assert (members(frontier), frontier.vertices.dtype) == ([1, 3, 4], np.uint32)
    with pytest.raises(DTypeError, match="bool"):
        graph.frontier(mask[:4])


def test_a_trusted_array_is_held_as_it_is(device):
    ids = device.xp.asarray(np.array([3, 0, 3], np.uint32))
    frontier = graph_of(device, 4).frontier(ids, trusted=True, distinct=False)
    assert frontier.buffer is ids
    assert not frontier.distinct


def test_any_vertex_is_out_of_range_on_a_graph_without_vertices(device):
    with pytest.raises(VertexRangeError):
        graph_of(device, 0).frontier([0])
    assert len(graph_of(device, 0).frontier()) == 0


def test_all(device):
    frontier = graph_of(device, 5).frontier()
    assert frontier.is_all
    assert len(frontier) == frontier.capacity == 5
    assert members(frontier) == [0, 1, 2, 3, 4]
    assert device.to_numpy(frontier.device_count).tolist() == [5]


def test_count_is_read_when_asked_and_only_once(device):
    buffer = device.xp.asarray(np.array([4, 2, 0, 0], np.uint32))
    count = device.xp.asarray(np.array([2], np.uint32))
    frontier = Frontier._of(device, buffer, count)
    assert frontier.known_count is None
    assert "size still on the device" in repr(frontier)
    assert frontier.buffer is buffer
    assert frontier.device_count is count
    assert members(frontier) == [4, 2]
    count[0] = 3
    assert len(frontier) == 2


def test_a_count_may_be_an_entry_of_a_block(device):
    block = device.xp.asarray(np.array([7, 2, 9], np.uint32))
    frontier = Frontier._of(device, device.xp.arange(4, dtype=np.uint32), DeviceCount(block, 1, np.uint64(12)))
    assert frontier.count_address == 12
    assert device.to_numpy(frontier.device_count).tolist() == [2]
    assert members(frontier) == [0, 1]


def test_host_counts_become_device_counts(device):
    frontier = Frontier._of(device, device.xp.zeros(4, np.uint32), 1)
    assert len(frontier) == 1
    assert frontier.device_count.dtype == np.uint32
    assert device.to_numpy(frontier.device_count).tolist() == [1]


def test_workspace_keeps_what_was_written(device):
    workspace = Workspace(device)
    first = workspace.array("queue", 3, np.uint32)
    assert device.to_numpy(first).tolist() == [0, 0, 0]
    first[:] = 7
    assert device.to_numpy(workspace.array("queue", 2, "uint32")).tolist() == [7, 7]
    assert device.to_numpy(workspace.array("other", 2, np.uint32)).tolist() == [0, 0]


def test_workspace_grows_geometrically_and_zeroed(device):
    workspace = Workspace(device)
    workspace.array("queue", 100, np.int64)[:] = 1
    grown = workspace.array("queue", 101, np.int64)
    assert grown.shape == (101,)
    assert not device.to_numpy(grown).any()
    grown[:] = 5
    assert device.to_numpy(workspace.array("queue", 200, np.int64)[:101]).tolist() == [5] * 101


def test_workspace_keeps_dtypes_apart(device):
    workspace = Workspace(device)
    workspace.array("x", 4, np.float32)[:] = 1
    assert workspace.array("x", 4, np.float64).dtype == np.float64
    assert device.to_numpy(workspace.array("x", 4, np.dtype("float32"))).tolist() == [1, 1, 1, 1]
    assert workspace.array("x", 0, np.float32).shape == (0,)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_independent(device, copied):
    graph = graph_of(device, 9)
    some = graph.frontier([3, 1])
    again = copied(some)
    assert members(again) == [1, 3]
    assert (again.device, again.num_vertices) == (device, 9)
    again.vertices[0] = 2
    assert members(some) == [1, 3]
    everything = copied(graph.frontier())
    assert everything.is_all
    assert len(everything) == 9


def test_the_bound_of_ids(device):
    assert graph_of(device, 9).frontier([3, 1]).num_vertices == 9
    assert graph_of(device, 9).frontier().num_vertices == 9
    buffer = device.xp.asarray(np.array([4, 2, 7, 7], np.uint32))
    assert Frontier._of(device, buffer, 2).num_vertices == 5
    assert Frontier._of(device, buffer, num_vertices=20).num_vertices == 20
    assert Frontier._of(device, buffer[:0]).num_vertices == 0


def test_workspace_keeps_state(device):
    class Counts:
        def __init__(self, device: Device) -> None:
            self.device = device

    workspace = Workspace(device)
    assert workspace.state(Counts) is workspace.state(Counts)
    assert workspace.state(Counts).device == device
    assert Workspace(device).state(Counts) is not workspace.state(Counts)


def test_a_pickle_of_a_device_that_is_not_here():
    restore, (_, vertices, bound, distinct) = Frontier._of(Device("cpu"), np.zeros(1, np.uint32)).__reduce__()
    with pytest.raises(DeviceError):
        restore(Device("cuda", 99), vertices, bound, distinct)
