"""What readers answered, beside what is right."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from bench.trial.cases import ACTIONS, REPEAT, REPEATS, UNKNOWN_WRITE, Action, Label, labels

_ACTIONS = frozenset[str](ACTIONS)


class Score(Struct, frozen=True):
    """How one reader did with one form."""

    form: str
    reader: str
    answers: dict[str, Action]

    @property
    def right(self) -> list[str]:
        """The cases with a right next step."""
        return [id for id, action in self.answers.items() if action in labels()[id].right]

    @property
    def wrong(self) -> list[str]:
        """The cases with another one."""
        return [id for id in self.answers if id not in self.right]

    @property
    def repeated_writes(self) -> list[str]:
        """The writes that were repeated although their outcome is unknown."""
        return [id for id, label in self._of(UNKNOWN_WRITE) if self.answers[id] in REPEATS]

    @property
    def right_repeats(self) -> list[str]:
        """The calls that were repeated, and rightly."""
        return [id for id, label in self._of(REPEAT) if self.answers[id] in label.right]

    def handed_over(self, kind: str | None = None) -> int:
        """Return how many cases were handed to the user, of one class or of all."""
        return sum(action == "ask_user" and kind in (None, labels()[id].kind) for id, action in self.answers.items())

    def by_class(self) -> dict[str, Counter[Action]]:
        """Return how often each action was chosen, by the class of the case."""
        found: dict[str, Counter[Action]] = {}
        for id, action in self.answers.items():
            found.setdefault(labels()[id].kind, Counter())[action] += 1
        return dict(sorted(found.items()))

    def _of(self, kind: str) -> list[tuple[str, Label]]:
        return [(id, label) for id, label in labels().items() if label.kind == kind]


def scores(folder: Path) -> list[Score]:
    """Return the scores of all answers in a folder.

    Raises:
        ValueError: a file does not answer every case with one of the actions, or its name has no form and reader.
    """
    return [_score(path) for path in sorted(folder.glob("answers-*.json"))]


def report(found: list[Score]) -> Iterator[str]:
    """Yield the lines of a report."""
    writes, repeats = (sum(label.kind == kind for label in labels().values()) for kind in (UNKNOWN_WRITE, REPEAT))
    yield (
        f"{'form':<14}{'reader':<10}{'right':>8}{'writes repeated':>18}{'right repeats':>16}"
        f"{'to the user':>13}{'of repeats':>12}"
    )
    for one in found:
        yield (
            f"{one.form:<14}{one.reader:<10}{len(one.right) / len(one.answers):>8.1%}"
            f"{f'{len(one.repeated_writes)} of {writes}':>18}{f'{len(one.right_repeats)} of {repeats}':>16}"
            f"{one.handed_over():>13}{one.handed_over(REPEAT):>12}"
        )
    for one in found:
        yield ""
        yield f"{one.form}, {one.reader}: what was chosen, by class"
        yield f"  {'':<16}" + "".join(f"{action:>13}" for action in ACTIONS)
        for kind, counts in one.by_class().items():
            yield f"  {kind:<16}" + "".join(f"{counts[action] or '·':>13}" for action in ACTIONS)
        yield f"{one.form}, {one.reader}: what went wrong"
        for id in sorted(one.wrong):
            label = labels()[id]
            yield f"  {id} {label.kind:<16} {one.answers[id]:<12} right: {', '.join(label.right)}. {label.why}".rstrip()


def _score(path: Path) -> Score:
    form, _, reader = path.stem.removeprefix("answers-").rpartition("-")
    if not form or not reader:
        raise ValueError(f"{path.name} is not named answers-<form>-<reader>.json")
    answers = json.loads(path.read_text(encoding="utf-8"))
    missing, unknown = sorted(labels().keys() - answers), sorted(answers.keys() - labels().keys())
    odd = sorted(id for id, action in answers.items() if action not in _ACTIONS)
    for what, ids in (
        ("does not answer", missing),
        ("answers unknown cases", unknown),
        ("has no valid action for", odd),
    ):
        if ids:
            raise ValueError(f"{path.name} {what}: {', '.join(ids)}")
    return Score(form, reader, answers)
