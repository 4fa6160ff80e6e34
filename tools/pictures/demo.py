"""The picture of the demo: what `failwell demo` prints on a terminal, as SVG."""

import asyncio
import io
import re
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

from failwell.cli import demo
from failwell.demo import runner
from failwell.demo.scenes import SceneResult

_WIDTH = 116
_FONTS = re.compile(r"@font-face \{\{.*?\}\}\s*", re.DOTALL)  # they would be loaded from elsewhere
_LOCAL = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def draw(path: Path) -> None:
    """Run the demo and write its picture."""
    path.write_text(drawn(asyncio.run(runner.run_demo("compact"))), encoding="utf-8")


def drawn(results: list[SceneResult]) -> str:
    """Return the picture of a demo that was run; it holds no time and nothing to load."""
    console = Console(
        file=io.StringIO(), record=True, width=_WIDTH, force_terminal=True, color_system="truecolor", highlight=False
    )
    demo.print_opening(console)
    for number, one in enumerate(results, 1):
        demo.print_scene(console, number, one)
    demo.print_score(console, runner.scores(results))
    template = _FONTS.sub("", CONSOLE_SVG_FORMAT).replace("Fira Code, monospace", _LOCAL)
    return console.export_svg(title="failwell demo", code_format=template, unique_id="demo") + "\n"
