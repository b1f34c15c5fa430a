"""The synchronisation counter, on a GPU."""

import pytest

from suricate.base.devices import resolve_device
from suricate.testing.syncs import captured, count_syncs

pytestmark = pytest.mark.gpu


@pytest.fixture
def cuda():
    return resolve_device("cuda")


def test_reads_and_waits_are_counted(cuda):
    xp = cuda.xp
    array = xp.arange(1000)
    for action, calls in [
        (lambda: array.get(), 1),
        (lambda: int(array.sum()), 1),
        (lambda: bool((array < 5).all()), 1),
        (lambda: array[0].item(), 1),
        (lambda: (array[0].item(), array.get()), 2),
        (cuda.synchronize, 1),
        (lambda: xp.asnumpy(array), 1),
        (lambda: array + 1, 0),
        (lambda: xp.sort(array), 0),
        (lambda: xp.cumsum(array), 0),
    ]:
        action()
        assert count_syncs(action).total == calls


def test_nothing_stays_replaced(cuda):
    before = cuda.xp.ndarray.get, cuda.xp.cuda.Stream.synchronize, cuda.xp.cuda.runtime.memcpyAsync
    with pytest.raises(ZeroDivisionError):
        count_syncs(lambda: 1 / 0)
    assert before == (cuda.xp.ndarray.get, cuda.xp.cuda.Stream.synchronize, cuda.xp.cuda.runtime.memcpyAsync)


def test_capture_does_the_work_once(cuda):
    counter = cuda.xp.zeros(1, "int64")

    def action():
        counter.__iadd__(1)
        return "result"

    action()  # compiles
    assert captured(action, cuda) == "result"
    assert counter.get()[0] == 2


def test_capture_refuses_a_wait(cuda):
    array = cuda.xp.arange(1000)
    with pytest.raises(RuntimeError, match="captur"):
        captured(lambda: int(array.sum()), cuda)
    assert int(array.sum()) == 499500  # the device is usable afterwards
