"""The kit of comms, with what takes seconds not in the quick tier."""

from __future__ import annotations

import pytest

from suricate.testing import CommConformance


class SlowFaults(CommConformance):
    """The kit; what waits for time limits is marked ``slow``."""

    @pytest.mark.slow
    def test_a_rank_that_hangs_while_another_reads(self) -> None:
        super().test_a_rank_that_hangs_while_another_reads()

    @pytest.mark.slow
    def test_a_rank_that_does_not_come(self) -> None:
        super().test_a_rank_that_does_not_come()

    @pytest.mark.slow
    def test_a_rank_that_is_busy_is_waited_for(self) -> None:
        super().test_a_rank_that_is_busy_is_waited_for()

    @pytest.mark.slow
    def test_a_source_that_is_quiet_is_waited_for(self) -> None:
        super().test_a_source_that_is_quiet_is_waited_for()

    @pytest.mark.slow
    def test_work_that_has_a_limit_of_its_own(self) -> None:
        super().test_work_that_has_a_limit_of_its_own()
