"""A failure as one short text for a model."""

import pytest

import failwell as fw


def test_it_says_what_happened_and_what_to_do_next() -> None:
    failure = fw.Failure(code="RATE_LIMITED", message="Slow down.", retry_after=30, tool="send_mail")

    assert fw.render(failure) == (
        "TRANSIENT, RATE_LIMITED in send_mail: Slow down.\n"
        "Next: The call had no effect. Wait at least 30 seconds, then call again."
    )


def test_it_lists_the_fields_with_what_to_send_instead() -> None:
    problem = fw.FieldProblem(path="mode", kind="enum", message="Not an option", options=("fast", "slow"))
    shown = fw.render(fw.Failure(code="VALIDATION_FAILED", message="mode is wrong", fields=(problem,)))

    assert "- mode: Not an option; one of fast, slow\n" in shown
    assert "Next: Correct the fields named in the error, then call again." in shown


def test_it_depends_on_what_is_known_of_the_tool() -> None:
    failure = fw.Failure(code="TIMEOUT", message="No answer.")

    assert "check before calling it again" in fw.render(failure)
    assert "safe to repeat" in fw.render(failure, {"readOnlyHint": True})
    assert "Do not repeat this call now. It may succeed later." in fw.render(failure, {"readOnlyHint": True}, attempt=3)


def test_it_does_not_tell_to_call_again_what_is_not_to_be_called_again() -> None:
    assert fw.render(fw.Failure(code="RATE_LIMITED", message="Slow down."), attempt=3) == (
        "TRANSIENT, RATE_LIMITED: Slow down.\nNext: Do not repeat this call now. It may succeed later."
    )


def test_it_names_what_helps() -> None:
    failure = fw.Failure(type="NOT_FOUND", message="No such task.", actions=("tasks.list", "tasks.search"))

    assert "Use tasks.list or tasks.search." in fw.render(failure)


def test_it_stays_short_and_holds_no_secret() -> None:
    fields = tuple(fw.FieldProblem(path=f"f{n}", message="wrong") for n in range(40))
    shown = fw.render(fw.Failure(type="VALIDATION", message="x" * 5000 + " password=hunter2", fields=fields))

    assert len(shown) < 2000
    assert "more fields" in shown
    assert "hunter2" not in shown


def test_of_what_nobody_understood_only_the_server_s_words_are_shown() -> None:
    plain, advised = (
        fw.read({"content": [{"type": "text", "text": text}], "isError": True})
        for text in ("Frobnication stopped.", "Frobnication stopped.\nNext: Wind it up.")
    )

    assert plain is not None
    assert advised is not None
    assert fw.render(plain) == "Frobnication stopped."
    assert fw.render(advised) == "Frobnication stopped.\nNext: Wind it up."


@pytest.mark.parametrize(
    ("delay", "shown"),
    [(1, "1 second, "), (2.5, "2.5 seconds, "), (14.999, "15 seconds, "), (1_209_600, "1209600 seconds")],
)
def test_a_wait_is_worded_as_people_say_it_and_never_shorter(delay: float, shown: str) -> None:
    text = fw.render(fw.Failure(code="RATE_LIMITED", message="Too many requests.", retry_after=delay))

    assert f"Wait at least {shown}" in text
