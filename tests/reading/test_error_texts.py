"""Error texts of many kinds with the call they answer: what is claimed of each, and which arguments are blamed.

The cases in `tests/data/error_texts.jsonl` are made up, and most were written before the rules that pass them. `type`
lists every right answer, null stands for "nothing is claimed"; `fields` is exact, unless it is `["?"]`.
"""

import pytest

import failwell as fw
from tests.reading import corpus
from tests.reading.corpus import CERTAIN, Row

CASES = {row["id"]: row for row in corpus.error_texts()}
CLASSES = sorted({row["class"] for row in CASES.values()})


def seen(row: Row) -> fw.Failure:
    result = {"content": [{"type": "text", "text": row["text"]}], "isError": True}
    found = fw.read(result, tool=row["tool"], arguments=row["arguments"], input_schema=row["schema"])
    assert found is not None
    return found


def is_claim(failure: fw.Failure) -> bool:
    return failure.confidence is None or failure.confidence >= CERTAIN


def test_there_are_cases_of_every_kind() -> None:
    assert len(CASES) >= 150
    assert len(CLASSES) >= 7


@pytest.mark.parametrize("case", CASES)
def test_the_type_is_right_or_nothing_is_claimed(case: str) -> None:
    found = seen(CASES[case])

    assert (found.type if is_claim(found) else None) in CASES[case]["type"]


@pytest.mark.parametrize("case", [case for case, row in CASES.items() if row["fields"] != ["?"]])
def test_exactly_the_arguments_at_fault_are_blamed(case: str) -> None:
    found = seen(CASES[case])

    assert {corpus.argument_of(problem.path) for problem in found.fields} == set(CASES[case]["fields"])


@pytest.mark.parametrize("case", [case for case, row in CASES.items() if "outcome" in row])
def test_the_outcome_is_what_the_words_say(case: str) -> None:
    assert seen(CASES[case]).outcome in CASES[case]["outcome"]


@pytest.mark.parametrize("case", [case for case, row in CASES.items() if "retryable" in row])
def test_only_what_may_pass_is_called_retryable(case: str) -> None:
    found, right = seen(CASES[case]), CASES[case]["retryable"]

    assert found.retryable in ([False, None] if right == "notTrue" or not is_claim(found) else [right])


@pytest.mark.parametrize("case", [case for case, row in CASES.items() if row["class"] == "result"])
def test_an_error_about_the_result_never_asks_for_other_input(case: str) -> None:
    assert fw.decide(seen(CASES[case])).action != "fix_input"
