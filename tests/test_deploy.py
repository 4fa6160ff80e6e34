"""The files that deploy failwell: they fit each other, and every command in them is one that failwell takes.

No container runs here. `nox -s stranger` runs the commands of the image in an empty environment.
"""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from failwell.proxy.options import ProxyOptions, parse

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "examples" / "deploy"
PROBES = ("/healthz", "/readyz")


def load(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))


COMPOSE: dict[str, Any] = load("compose.yml")["services"]
KUBERNETES: list[dict[str, Any]] = list(yaml.safe_load_all((DEPLOY / "kubernetes.yml").read_text(encoding="utf-8")))
(DEPLOYMENT,) = (one for one in KUBERNETES if one["kind"] == "Deployment")
(CONTAINER,) = DEPLOYMENT["spec"]["template"]["spec"]["containers"]


def instructions() -> list[tuple[str, str]]:
    """The instructions of the last stage of the image."""
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    last = text[text.rindex("\nFROM ") :]
    return [(word, rest) for line in last.splitlines() if line and line[0] != "#"
            for word, _, rest in [line.partition(" ")]]  # fmt: skip


def options_of(words: list[str]) -> ProxyOptions:
    """What a command of the image means, with the variables that compose would fill in."""
    filled = [re.sub(r"\$\{SERVER_URL[^}]*\}", "https://tools.example.com/mcp", word) for word in words]
    command, *rest = filled
    assert command == "proxy"
    return parse(rest)


GATEWAYS = {
    **{name: one["command"] for name, one in COMPOSE.items() if "gateway" in name},
    "kubernetes": CONTAINER["args"],
}


@pytest.mark.parametrize("name", GATEWAYS)
def test_every_gateway_is_started_as_the_proxy_takes_it(name: str) -> None:
    options = options_of(GATEWAYS[name])

    assert (options.listen, options.retry) == (("0.0.0.0", 8080), True)
    assert options.limits.startswith("redis://:$")  # failwell fills the password in, so that no command line has it
    assert "${LIMITS_PASSWORD}" in options.limits.replace("$$", "$")


def test_the_image_runs_as_nobody_and_ends_by_a_signal() -> None:
    found = dict(instructions())

    assert found["USER"] == "10001"
    assert DEPLOYMENT["spec"]["template"]["spec"]["securityContext"]["runAsUser"] == int(found["USER"])
    assert found["STOPSIGNAL"] == "SIGTERM"
    assert json.loads(found["ENTRYPOINT"]) == ["failwell"]


def test_the_image_is_built_from_what_there_is() -> None:
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    copied = [name for line in re.findall(r"^COPY (?!--from)(.+)$", text, re.MULTILINE) for name in line.split()[:-1]]
    (extras,) = re.findall(r"/source\[(.+?)\]", text)
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]

    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert set(extras.split(",")) <= known.keys()


def test_every_health_check_asks_for_what_is_served() -> None:
    image = json.loads(dict(instructions())["HEALTHCHECK"].partition(" CMD ")[2])
    dashboard = COMPOSE["dashboard"]["healthcheck"]["test"][1:]
    asked = re.findall(r"http://127\.0\.0\.1:(\d+)(/\w+)", f"{image[-1]} {dashboard[-1]}")
    kubernetes = [CONTAINER[f"{name}Probe"]["httpGet"] for name in ("liveness", "readiness")]

    assert asked == [("8080", "/healthz"), ("8765", "/readyz")]
    assert [(one["path"], one["port"]) for one in kubernetes] == [("/healthz", "metrics"), ("/readyz", "metrics")]
    assert all(path in PROBES for _, path in asked)
    for command in (image, dashboard):
        compile(command[-1], "healthcheck", "exec")


def test_what_is_mounted_exists_and_what_is_needed_is_there() -> None:
    mounted = [one.split(":")[0] for service in COMPOSE.values() for one in service.get("volumes", [])]
    needed = {name for service in COMPOSE.values() for name in service.get("depends_on", [])}

    assert [path for path in mounted if path[0] == "." and not (DEPLOY / path).resolve().is_file()] == []
    assert needed <= COMPOSE.keys()


def test_the_dashboard_is_started_with_options_that_it_takes() -> None:
    words = shlex.split(COMPOSE["dashboard"]["command"][-1])
    named = [word for word in words[words.index("dashboard") :] if word.startswith("--")]
    told = subprocess.run(
        [sys.executable, "-m", "failwell", "dashboard", "--help"], capture_output=True, text=True, check=True
    ).stdout

    assert named == ["--store", "--listen"]
    assert [name for name in (*named, "FAILWELL_DASHBOARD_TOKEN") if name not in told] == []
    assert "FAILWELL_DASHBOARD_TOKEN" in COMPOSE["dashboard"]["environment"]


def test_addresses_name_services() -> None:
    text = (DEPLOY / "compose.yml").read_text(encoding="utf-8")
    hosts = set(re.findall(r"(?:@|otlp:http://)([a-z]+)[:/]", text))

    assert hosts <= COMPOSE.keys()
    assert {"limits", "events", "collector"} <= hosts


def test_every_part_of_the_collector_is_defined_and_used() -> None:
    found = load("collector.yml")
    pipelines = found["service"]["pipelines"]

    for kind in ("receivers", "processors", "exporters"):
        used = {name for pipeline in pipelines.values() for name in pipeline[kind]}
        assert used == found[kind].keys()
    assert set(pipelines) == {"traces", "logs", "metrics"}
    assert found["receivers"]["otlp"]["protocols"]["http"]["endpoint"].endswith(":4318")
    variables = set(re.findall(r"\$\{env:(\w+)\}", (DEPLOY / "collector.yml").read_text(encoding="utf-8")))
    assert variables <= COMPOSE["collector"]["environment"].keys()


def test_prometheus_asks_each_gateway_where_its_metrics_are() -> None:
    found = load("prometheus.yml")
    (lookup,) = found["scrape_configs"][0]["dns_sd_configs"]
    mounted = [one.split(":")[1] for one in COMPOSE["prometheus"]["volumes"]]

    assert lookup["names"] == ["gateway"]
    assert lookup["port"] == options_of(COMPOSE["gateway"]["command"]).metrics[1]
    assert set(found["rule_files"]) <= set(mounted)


def test_prometheus_asks_the_dashboard_with_its_token() -> None:
    (job,) = (one for one in load("prometheus.yml")["scrape_configs"] if one["job_name"] == "failwell-store")
    (target,) = job["static_configs"][0]["targets"]
    (secret,) = COMPOSE["prometheus"]["secrets"]
    (line,) = COMPOSE["dashboard"]["command"]

    assert job["authorization"]["credentials_file"] == f"/run/secrets/{secret}"
    variable = load("compose.yml")["secrets"][secret]["environment"]
    assert COMPOSE["dashboard"]["environment"]["FAILWELL_DASHBOARD_TOKEN"] == f"${{{variable}:?}}"
    assert target.partition(":")[0] in COMPOSE
    assert f"0.0.0.0:{target.partition(':')[2]}" in line


def test_grafana_finds_the_dashboard_and_its_metrics() -> None:
    mounted = [one.split(":")[1] for one in COMPOSE["grafana"]["volumes"]]
    (source,) = load("grafana-sources.yml")["datasources"]
    (provider,) = load("grafana-dashboards.yml")["providers"]
    dashboard = json.loads((ROOT / "examples" / "monitoring" / "grafana.json").read_text(encoding="utf-8"))

    assert {path.partition("provisioning/")[2].partition("/")[0] for path in mounted} >= {"datasources", "dashboards"}
    assert any(path.startswith(provider["options"]["path"]) for path in mounted)
    assert re.match(r"http://(\w+):", source["url"])[1] in COMPOSE  # type: ignore[index]  # it is an address
    assert source["type"] == dashboard["templating"]["list"][0]["query"]


def test_what_starts_by_default_needs_nothing_that_compose_does_not_start() -> None:
    started = {name for name, one in COMPOSE.items() if "profiles" not in one}
    needed = {name for one in started for name in COMPOSE[one].get("depends_on", [])}

    assert needed <= started
    assert {"gateway", "dashboard", "limits", "events", "prometheus", "grafana"} == started
    assert COMPOSE["collector"]["profiles"] == COMPOSE["traced-gateway"]["profiles"]


def test_a_pod_has_time_to_end_its_calls() -> None:
    grace = options_of(CONTAINER["args"]).grace

    assert DEPLOYMENT["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > grace
    (service,) = (one for one in KUBERNETES if one["kind"] == "Service")
    labels = DEPLOYMENT["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    assert {one["name"] for one in CONTAINER["ports"]} >= {one["targetPort"] for one in service["spec"]["ports"]}


def test_the_dashboard_is_started_as_it_takes_it() -> None:
    (line,) = COMPOSE["dashboard"]["command"]
    words = shlex.split(line)

    assert words[:3] == ["exec", "failwell", "dashboard"]
    assert words[words.index("--listen") + 1] == "0.0.0.0:8765"
