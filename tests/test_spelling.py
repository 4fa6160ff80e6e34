"""A misspelt keyword is answered with the one that was meant, before anything is done."""

from functools import partial
from typing import Any

import pytest

import failwell as fw

MISSPELT: dict[str, tuple[Any, dict[str, Any]]] = {
    "Failure has no setting 'sugestion'; did you mean 'suggestion'?": (
        partial(fw.Failure, message="m"),
        {"sugestion": "s"},
    ),
    "Failure has no setting 'tol'; did you mean 'tool'?": (fw.Failure(message="m").replace, {"tol": "t"}),
    "FieldProblem has no setting 'mesage'; did you mean 'message'?": (
        partial(fw.FieldProblem, path="p"),
        {"mesage": "m"},
    ),
    "Hints has no setting 'readonly'; did you mean 'read_only'?": (fw.Hints, {"readonly": True}),
    "NotFound has no setting 'sugestion'; did you mean 'suggestion'?": (partial(fw.NotFound, "m"), {"sugestion": "s"}),
    "Gone has no setting 'retryAfter'; did you mean 'retry_after'?": (
        partial(fw.Gone.of, "task", 7),
        {"retryAfter": 1},
    ),
    "error has no setting 'cod'; did you mean 'code'?": (partial(fw.error, "m"), {"cod": "C"}),
    "tool_error has no setting 'detials'; did you mean 'details'?": (partial(fw.tool_error, "C"), {"detials": {}}),
    "success has no setting 'warnig'; did you mean 'warning'?": (partial(fw.success, 1), {"warnig": "w"}),
    "Validation has no setting 'mesage'; did you mean 'message'?": (partial(fw.Validation, "t"), {"mesage": "m"}),
    "Group has no setting 'descriminator'; did you mean 'discriminator'?": (
        partial(fw.Group, "g"),
        {"descriminator": "d"},
    ),
    "Limit has no setting 'retry_afer'; did you mean 'retry_after'?": (partial(fw.server.Limit, 1), {"retry_afer": 1}),
    "Caller has no setting 'hok'; did you mean 'hook'?": (fw.client.Caller, {"hok": print}),
    "Caller has no setting 'polcy'; did you mean 'policy'?": (fw.install, {"polcy": fw.Policy()}),
}


@pytest.mark.parametrize("said", MISSPELT)
def test_a_misspelt_keyword_says_what_was_meant(said: str) -> None:
    make, keywords = MISSPELT[said]

    with pytest.raises(TypeError) as caught:
        make(**keywords)

    assert str(caught.value) == said
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("make", "keywords", "said"),
    [
        (partial(fw.NotFound, "m"), {"zzz": 1}, "^NotFound has no setting 'zzz'$"),
        (fw.Failure, {}, "Missing required argument 'message'"),
        (partial(fw.NotFound, "m"), {"retry_after": "3"}, "retry_after must be a number of seconds"),
    ],
)
def test_other_misuse_keeps_its_words(make: Any, keywords: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        make(**keywords)
