"""The files that a code host reads, and the one address that all of them hold."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from tools import repository_url

import failwell as fw
from tests.site import pages
from tests.site.test_links import leads_somewhere

GITHUB = pages.ROOT / ".github"
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_has_a_name_a_description_and_fields_with_labels(path: Path) -> None:
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    ids = [field["id"] for field in form["body"]]

    assert form["name"]
    assert form["description"]
    assert len(set(ids)) == len(ids) > 1
    assert all(field["attributes"]["label"] for field in form["body"])


def test_people_who_open_an_issue_are_led_to_pages_that_exist() -> None:
    config = yaml.safe_load((GITHUB / "ISSUE_TEMPLATE" / "config.yml").read_text(encoding="utf-8"))
    links = [link["url"] for link in config["contact_links"]]

    assert len(FORMS) == 3
    assert [link for link in links if not leads_somewhere("README.md", link)] == []
    assert any("/security/" in link for link in links)


@pytest.mark.parametrize("path", sorted((GITHUB / "workflows").glob("*.yml")), ids=lambda path: path.stem)
def test_a_workflow_has_jobs_with_steps_and_few_rights(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))

    assert workflow["permissions"] == {"contents": "read"}
    assert all(job["steps"] for job in workflow["jobs"].values())


def test_ci_runs_what_people_run_on_every_system_and_python() -> None:
    jobs = yaml.safe_load((GITHUB / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    makefile = (pages.ROOT / "Makefile").read_text(encoding="utf-8")

    assert jobs["tests"]["strategy"]["matrix"] == {
        "os": ["ubuntu-latest", "macos-latest", "windows-latest"],
        "python": ["3.11", "3.12", "3.13", "3.14"],
    }
    assert any(command.startswith(".ci/run") for command in commands)
    assert any('-e ".[all]" --group tests' in command for command in commands)
    assert '-e ".[all]" --group tests' in makefile


def test_the_version_has_a_date_in_the_changelog() -> None:
    changelog = (pages.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert re.search(rf"^## {re.escape(fw.__version__)} \(\d{{4}}-\d\d-\d\d\)$", changelog, re.MULTILINE)


@pytest.mark.table
def test_until_the_first_release_is_published_its_lists_hold_every_change() -> None:
    changelog = (pages.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased = changelog.partition("## Unreleased\n")[2].partition("\n## ")[0]

    if "has not been published yet" in unreleased:
        assert "\n- " not in unreleased, "add the line to the list it belongs to, below 0.1.0"


def test_the_hook_for_pre_commit_is_a_command_that_exists() -> None:
    [hook] = yaml.safe_load((pages.ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))

    assert hook["entry"] == "failwell check --"
    assert not hook["pass_filenames"]


def test_what_developers_need_is_not_published() -> None:
    project = tomllib.loads((pages.ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    assert {"dev", "docs", "provoked", "tests"} == set(project["dependency-groups"])
    assert not set(project["dependency-groups"]) & set(project["project"]["optional-dependencies"])


def test_the_address_of_the_repository_is_changed_everywhere_by_one_command(tmp_path: Path) -> None:
    old, new = "https://example.com/failwell", "https://code.test/us/failwell"
    texts = {
        "pyproject.toml": '[project.urls]\nRepository = "{0}"\nIssues = "{0}/issues"\n',
        "README.md": "[docs]({0}/blob/main/docs/index.md) and [other](https://example.com/failwell-other/)\n",
        "data.json": '"{0}/kept"\n',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text.format(old), encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)

    repository_url.main(f"{new}/", tmp_path)

    texts_after = {name: (tmp_path / name).read_text(encoding="utf-8") for name in texts}
    assert texts_after == {name: text.format(old if name == "data.json" else new) for name, text in texts.items()}
