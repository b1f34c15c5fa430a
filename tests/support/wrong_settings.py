"""Wrong backends that forget their options, cannot shrink, or take changes as a whole in a wrong way.

See ``wrong_backends``, whose table they are added to.
"""

from __future__ import annotations

import numpy as np
from sound_backend import SoundStore
from wrong_backends import WRONG_BACKENDS, caught_by

__all__ = ["WRONG_BACKENDS"]


@caught_by("test_options")
class ForgetsItsOption(SoundStore):
    def __init__(self, num_vertices, *, width=4, **options):
        super().__init__(num_vertices, **options)


@caught_by("test_options_of_copies")
class ForgetsItsOptionInCopies(SoundStore):
    def __init__(self, num_vertices, *, width=4, **options):
        super().__init__(num_vertices, **options)
        self.width = width

    def options(self):
        return {"width": self.width}

    def copy_to(self, device):
        copy = super().copy_to(device)
        copy.width = 5
        return copy


@caught_by("test_hub")
class CountsDegreesIn16Bits(SoundStore):
    def degrees(self):
        return super().degrees() & np.uint32(0xFFFF)


@caught_by("test_shrinks_again")
class GrowsOnly(SoundStore):
    def resize(self, num_vertices):
        if num_vertices < self.num_vertices:
            self.num_vertices = num_vertices  # the degrees stay as long as they are
        else:
            super().resize(num_vertices)


@caught_by("test_changes_that_are_dropped")
class ChangesWhileItPrepares(SoundStore):
    def apply(self, delete, insert):
        carry_out = super().apply(delete, insert)
        if carry_out is None:
            return None
        carry_out()
        return lambda: None


@caught_by("test_replacements_as_a_whole")
class InsertsBeforeItDeletes(SoundStore):
    def _carry_out(self, delete, insert):
        super()._carry_out(None, insert)
        super()._carry_out(delete, None)


@caught_by("test_changes_as_a_whole")
class DoesNotSayWhatItDid(SoundStore):
    def _carry_out(self, delete, insert):
        super()._carry_out(delete, insert)
        if delete is not None:
            delete.outcome = None


@caught_by("test_unchecked_queries")
class FindsNothingUnchecked(SoundStore):
    def query(self, edges):
        found, weight = super().query(edges)
        return found & False, weight
