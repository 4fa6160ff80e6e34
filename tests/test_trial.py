"""The material of the blind trial is complete, shows nothing of its labels, and is scored as it should be."""

import json
from collections import Counter
from pathlib import Path

import pytest
from bench.trial.__main__ import main
from bench.trial.cases import ACTIONS, REPEAT, REPEATS, UNKNOWN_WRITE, cases, labels, servers
from bench.trial.forms import FORMS, original, page, ratio, shuffled
from bench.trial.scoring import Score, report, scores

CORRECT = {id: label.right[0] for id, label in labels().items()}


def test_every_case_has_one_label_and_a_server() -> None:
    ids = [case.id for case in cases()]

    assert len(set(ids)) == len(ids)
    assert set(ids) == set(labels())
    assert {case.server for case in cases()} == set(servers())


def test_there_are_as_many_cases_of_each_class_as_the_trial_needs() -> None:
    counts = Counter(label.kind for label in labels().values())

    assert (counts[UNKNOWN_WRITE], counts[REPEAT]) == (40, 30)
    assert counts.total() - 70 >= 40


def test_no_write_whose_outcome_is_unknown_may_be_repeated_and_no_right_repeat_is_anything_else() -> None:
    for label in labels().values():
        if label.kind == UNKNOWN_WRITE:
            assert label.right == ["verify", "ask_user", "stop"]
        elif label.kind == REPEAT:
            assert set(label.right) == REPEATS
        else:
            assert label.right
            assert len(set(label.right)) == len(label.right)


def test_no_tool_that_may_be_called_twice_is_among_the_writes_whose_outcome_is_unknown() -> None:
    for case in cases():
        tool = servers()[case.server].tool(case.tool)
        if labels()[case.id].kind == UNKNOWN_WRITE:
            hints = (tool or {}).get("annotations") or {}

            assert tool is not None
            assert not hints.get("readOnlyHint")
            assert not hints.get("idempotentHint")


def test_recorded_cases_are_rows_of_the_corpora_with_the_annotations_of_their_tools() -> None:
    folder = Path(__file__).parent / "data" / "corpus"
    rows = [
        json.loads(line) for name in ("dev", "dev2") for line in (folder / f"{name}.jsonl").read_bytes().splitlines()
    ]
    found = {row["id"]: row for row in rows}
    recorded = {case.source.split()[1].rstrip(","): case for case in cases() if case.source.startswith("recorded ")}

    assert len(recorded) >= 100
    for id, case in recorded.items():
        tool = servers()[case.server].tool(case.tool)

        assert found[id]["tool"] == case.tool
        assert (tool or {}).get("annotations") == found[id]["annotations"]


def test_a_page_shows_every_case_with_its_text_and_none_of_its_label() -> None:
    texts = {case.id: f"text of {case.id}" for case in cases()}
    shown = page(texts)

    assert [case.id for case in shuffled()] == [line[3:] for line in shown.splitlines() if line.startswith("## ")]
    for case in cases():
        label, (_, _, rest) = labels()[case.id], shown.partition(f"## {case.id}\n")
        section = rest.partition("\n## ")[0]

        assert case.situation in section
        assert texts[case.id] in section
        assert label.kind not in section
        assert not label.why or label.why not in section
        assert not any(action in section for action in ACTIONS if "_" in action)


def test_the_servers_own_texts_are_told_for_every_case() -> None:
    texts = original()

    assert set(texts) == set(labels())
    assert all(text.strip() for text in texts.values())
    assert ratio(texts, texts) == 1
    assert ratio({id: text * 3 for id, text in texts.items()}, texts) == 3


@pytest.mark.slow
@pytest.mark.parametrize("form", [name for name in FORMS if name != "original"])
def test_every_case_is_told_in_every_form(form: str) -> None:
    texts = FORMS[form]()

    assert set(texts) == set(labels())
    assert all(text.strip() for text in texts.values())


def test_one_form_can_be_written_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["forms", str(tmp_path), "--form", "original"]) == 0

    assert sorted(path.name for path in tmp_path.iterdir()) == ["READERS.md", "form-original.md"]
    assert "median length 1.00 × the original" in capsys.readouterr().out


def test_readers_are_told_every_action() -> None:
    told = (Path(main.__code__.co_filename).parent / "READERS.md").read_text(encoding="utf-8")

    assert [line.split("`")[1] for line in told.splitlines() if line.startswith("| `")] == list(ACTIONS)


def test_right_answers_score_in_full() -> None:
    score = Score("compact", "a", dict(CORRECT))

    assert score.wrong == []
    assert score.repeated_writes == []
    assert len(score.right_repeats) == 30


def test_repeated_writes_and_repeats_left_to_the_user_are_counted() -> None:
    first = {kind: next(id for id, label in labels().items() if label.kind == kind) for kind in (UNKNOWN_WRITE, REPEAT)}
    score = Score("compact", "a", CORRECT | {first[UNKNOWN_WRITE]: "retry_later", first[REPEAT]: "ask_user"})

    assert sorted(score.wrong) == sorted(first.values())
    assert score.repeated_writes == [first[UNKNOWN_WRITE]]
    assert len(score.right_repeats) == 29
    assert score.handed_over(REPEAT) == 1
    assert score.by_class()[UNKNOWN_WRITE] == {"verify": 39, "retry_later": 1}
    lines = list(report([score]))
    assert "1 of 40" in lines[1]
    assert "29 of 30" in lines[1]
    assert [line.split()[0] for line in lines if "right: " in line] == sorted(first.values())


def test_answers_are_read_by_form_and_reader(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "answers-meta-first-b.json").write_text(json.dumps(CORRECT), encoding="utf-8")

    assert [(one.form, one.reader) for one in scores(tmp_path)] == [("meta-first", "b")]
    assert main(["score", str(tmp_path)]) == 0
    assert "100.0%" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("answers", "complaint"),
    [
        ({}, "does not answer: c001"),
        (CORRECT | {"c999": "stop"}, "answers unknown cases: c999"),
        (CORRECT | {"c001": "give_up"}, "has no valid action for: c001"),
    ],
)
def test_answers_that_cannot_be_scored_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], answers: dict[str, str], complaint: str
) -> None:
    (tmp_path / "answers-compact-a.json").write_text(json.dumps(answers), encoding="utf-8")

    assert main(["score", str(tmp_path)]) == 1
    assert complaint in capsys.readouterr().err


def test_a_folder_without_answers_cannot_be_scored(tmp_path: Path) -> None:
    assert main(["score", str(tmp_path)]) == 1
