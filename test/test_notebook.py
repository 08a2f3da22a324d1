"""The notebook runs from top to bottom and prints what it shows."""

import contextlib
import io
import json

import pytest
from source_tree import ROOT

NOTEBOOK = ROOT / "docs" / "feel_a_push.ipynb"


def test_the_notebook_prints_what_it_shows():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    space, shown, drawn = {}, 0, 0
    for cell in (cell for cell in cells if cell["cell_type"] == "code"):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec("".join(cell["source"]), space)
        kept = "".join("".join(o["text"]) for o in cell["outputs"] if "text" in o)
        assert out.getvalue() == kept
        shown += bool(kept)
        pictures = sum("data" in o for o in cell["outputs"])
        assert len(plt.get_fignums()) == pictures
        drawn += pictures
        plt.close("all")
    assert shown >= 4 and drawn == 1
