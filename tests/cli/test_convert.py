"""`failwell convert`."""

import json

import failwell as fw
from tests.cli.streams import RATE_LIMITED, SUCCESS, output, run


def test_convert_writes_a_result_that_reads_back() -> None:
    result = json.loads(output("convert", "--to", "envelope", stdin=RATE_LIMITED))

    assert fw.read(result) == fw.read(RATE_LIMITED)
    assert json.loads(result["content"][0]["text"])["error_code"] == "RATE_LIMITED"


def test_convert_writes_the_text_alone() -> None:
    assert output("convert", "--to", "xml", "--text", stdin=RATE_LIMITED) == (
        '<tool_error code="RATE_LIMITED">\n'
        "  <message>Slow down</message>\n"
        "  <retry_after>60 seconds</retry_after>\n"
        "</tool_error>\n"
    )


def test_convert_of_a_success_writes_nothing_and_exits_with_1() -> None:
    code, out, err = run("convert", "--to", "xml", stdin=SUCCESS)

    assert (code, out) == (1, "")
    assert err == "failwell: nothing to convert: the input is not a failure\n"
