"""How long tests wait for what must come."""

from __future__ import annotations

PATIENCE = 3600  #: seconds: so long that no test ends by a time-out on a busy machine, and a test that hangs does end
