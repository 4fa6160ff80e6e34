"""The matrix installs with uv what pip would install."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LISTED = r"""
global.extra_index_url='\nhttps://one.example/simple\nhttps://two.example/simple'
global.index_url='https://example.com/simple'
global.timeout='60'
:env:.cert='/etc/ca.pem'
:env:.constraint='constraints.txt'
:env:.find_links='/one /two'
""".replace("_", "-")  # as pip writes them


@pytest.mark.slow  # nox comes with `make cover`
def test_uv_gets_the_settings_of_pip() -> None:
    code = f"import noxfile; print(noxfile.settings_for_uv({LISTED!r}))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert ast.literal_eval(ran.stdout) == {
        "SSL_CERT_FILE": "/etc/ca.pem",
        "UV_CONSTRAINT": "constraints.txt",
        "UV_DEFAULT_INDEX": "https://example.com/simple",
        "UV_FIND_LINKS": "/one,/two",
        "UV_HTTP_TIMEOUT": "60",
        "UV_INDEX": "https://one.example/simple https://two.example/simple",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_PYTHON_DOWNLOADS": "never",
    }
