"""What `failwell check` shows on a terminal."""

import io

from failwell.cli import check
from tests.check.reports import samples


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(**changes: object) -> str:
    out = io.StringIO()
    check.show(out, samples.report(samples.tool("read_task", samples.probe("empty", samples.FLAGGED)), **changes))
    return out.getvalue()


def test_the_table_has_the_score_the_tools_and_what_to_change() -> None:
    text = shown(changes=(samples.CHANGE,))

    assert text.startswith("61.5 of 100  C  tasks 1.2")
    assert "read_task" in text
    assert "1. Give failures a type  +16.1" in text


def test_what_got_worse_and_what_was_not_sent_is_listed() -> None:
    worse = samples.Worse(probe="read_task/empty", what="it is not flagged any more")
    left_out = samples.NotProbed(tool="write_task", probe=None, reason="it may change something")

    text = shown(worse=(worse,), not_probed=(left_out,))

    assert "read_task/empty" in text
    assert "it is not flagged any more" in text
    assert "1× it may change something (write_task)" in text


def test_progress_is_shown_on_a_terminal_and_wiped_at_the_end() -> None:
    out = Terminal()

    with check.show_progress(out) as tell:
        assert tell is not None
        tell(3, 10)

    assert out.getvalue() == "\r3 of 10 calls\r\x1b[K"


def test_progress_is_not_shown_to_a_file() -> None:
    with check.show_progress(io.StringIO()) as tell:
        assert tell is None
