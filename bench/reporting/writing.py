"""Write what follows from the results: two pages, their pictures, and the figures that other pages quote."""

from pathlib import Path

from bench.reporting import drawing, prose
from bench.reporting.page import GOALS_PICTURE, GROWTH_PICTURE, PAGE, RESULTS, RETRIES_PICTURE, all_results, page
from bench.results import ROOT, Results, all_verdicts, load


def generated(results: Results | None = None) -> dict[str, str]:
    """Return both pages and their pictures, by their path."""
    results = load() if results is None else results
    return {
        PAGE: page(results),
        RESULTS: all_results(results),
        GOALS_PICTURE: drawing.goals(all_verdicts(results)),
        RETRIES_PICTURE: drawing.retry_engines(results),
        GROWTH_PICTURE: drawing.growth(results),
    }


def write(results: Results, root: Path = ROOT) -> list[str]:
    """Write everything, and return what changed."""
    texts = {root / name: text for name, text in generated(results).items()}
    verdicts = all_verdicts(results)
    texts |= {path: prose.filled(path.read_text(encoding="utf-8"), verdicts) for path in prose.pages(root)}
    return [str(path.relative_to(root)) for path, text in texts.items() if _write(path, text)]


def _write(path: Path, text: str) -> bool:
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return True
