"""Folders with plugins, as installed, and processes that load them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import suricate_tutorial
from patience import PATIENCE


def with_plugins(tmp_path: Path) -> Path:
    """Fill a folder with installed plugins: one good, one that raises on import, others broken in other ways."""
    modules = {
        "good": "import suricate as su\nfrom suricate_tutorial import suricate_backends\n",
        "raises": "raise ImportError('no such library')\n",
        "exits": "import sys\nsys.exit(3)\n",
        "silent": "x = 1\n",
        "typo": "import suricate as su\n@su.hookimpl\ndef suricate_backend():\n    return []\n",
        "bad_hook": "import suricate as su\n@su.hookimpl\ndef suricate_algorithms():\n    raise ValueError('no')\n",
        "bad_thing": "import suricate as su\n@su.hookimpl\ndef suricate_backends():\n    return [int]\n",
        "abstract": "import suricate as su\n@su.hookimpl\ndef suricate_backends():\n    return [su.Store]\n",
        "greedy": "import suricate as su\nfrom suricate.store import Store\n"
        "from suricate_tutorial import TutorialStore\n"
        "class Mine(TutorialStore):\n    name = 'slabhash'\n"
        "@su.hookimpl\ndef suricate_backends():\n    return [Mine]\n",
        "arguments": "import suricate as su\n@su.hookimpl\ndef suricate_backends(graph):\n    return []\n",
        "urgent": "import suricate as su\nfrom suricate_tutorial import TutorialStore\n"
        "class Mine(TutorialStore):\n    name = 'urgent'\n    priority = 'high'\n"
        "@su.hookimpl\ndef suricate_backends():\n    return [TutorialStore, Mine]\n",
    }
    for name, text in modules.items():
        (tmp_path / f"plug_{name}.py").write_text(text)
    info = tmp_path / "outsider-2.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outsider\nVersion: 2.5\n")
    (tmp_path / "plug_hidden").mkdir()
    points = "".join(f"{name} = plug_{name}\n" for name in (*modules, "hidden"))
    (info / "entry_points.txt").write_text(f"[suricate]\n{points}")
    return tmp_path


def python(code: str, *path: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run ``code`` in a new interpreter that finds what is under ``path``, support files and the tutorial backend."""
    folders = os.pathsep.join(map(str, (*path, Path(__file__).parent, Path(suricate_tutorial.__file__).parent)))
    clean = {key: value for key, value in os.environ.items() if not key.startswith("SURICATE_")}
    environ = {**clean, "PYTHONPATH": folders, "CUDA_VISIBLE_DEVICES": "", **environ}
    return subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=PATIENCE)
