"""The exceptions of suricate under their public name; ``suricate.base.errors`` defines them."""

from __future__ import annotations

from suricate.base.errors import (
    BackendError,
    BrokerError,
    CapacityError,
    CheckFailed,
    CommunicationError,
    ConvergenceError,
    DeviceError,
    DTypeError,
    EdgeFunctionError,
    FileFormatError,
    ForkError,
    LateEventError,
    MissingLibraryError,
    ParameterError,
    PluginError,
    RequirementError,
    SelfLoopError,
    ShapeError,
    SuricateError,
    UnknownNameError,
    VertexRangeError,
    WeightError,
    require,
)
from suricate.base.public import listing

__all__ = [
    "BackendError", "BrokerError", "CapacityError", "CheckFailed", "CommunicationError", "ConvergenceError",
    "DTypeError", "DeviceError", "EdgeFunctionError", "FileFormatError", "ForkError", "LateEventError",
    "MissingLibraryError", "ParameterError", "PluginError", "RequirementError", "SelfLoopError", "ShapeError",
    "SuricateError", "UnknownNameError", "VertexRangeError", "WeightError", "require",
]  # fmt: skip
__dir__ = listing(__all__)
