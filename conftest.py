from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

# README and docs are run as written, each page from its first block to its last.
PAGES = ["README.md", "docs/*.md", "docs/*/*.md", "docs/*/*/*.md"]
pytest_collect_file = Sybil(parsers=[PythonCodeBlockParser()], patterns=PAGES).pytest()
