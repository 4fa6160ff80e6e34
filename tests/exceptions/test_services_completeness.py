"""Every exception class of the drivers and SDKs we know has a rule, or a reason for having none."""

import pytest

from failwell.exceptions import rules
from tests.exceptions.test_completeness import exception_classes

LIBRARIES = {
    "sqlalchemy": ["sqlalchemy.exc", "sqlalchemy.orm.exc"],
    "psycopg": ["psycopg", "psycopg.errors"],
    "psycopg_pool": ["psycopg_pool"],
    "psycopg2": ["psycopg2", "psycopg2.errors", "psycopg2.extensions", "psycopg2.pool"],
    "asyncpg": ["asyncpg", "asyncpg.exceptions"],
    "pymysql": ["pymysql", "pymysql.err"],
    "mysql": ["mysql.connector", "mysql.connector.errors"],
    "_duckdb": ["duckdb"],
    "redis": ["redis", "redis.exceptions", "redis.sentinel"],
    "pymongo": ["pymongo.errors"],
    "bson": ["bson.errors"],
    "gridfs": ["gridfs.errors"],
    "elastic_transport": ["elastic_transport"],
    "elasticsearch": ["elasticsearch", "elasticsearch.helpers", "elasticsearch.dsl.exceptions"],
    "opensearchpy": ["opensearchpy", "opensearchpy.exceptions", "opensearchpy.helpers"],
    "botocore": ["botocore.exceptions"],
    "boto3": ["boto3.exceptions"],
    "s3transfer": ["s3transfer.exceptions", "s3transfer"],
    "google": ["google.api_core.exceptions", "google.auth.exceptions"],
    "googleapiclient": ["googleapiclient.errors"],
    "grpc": ["grpc", "grpc.aio"],
    "kubernetes": ["kubernetes.client.exceptions", "kubernetes.config"],
    "azure": ["azure.core.exceptions"],
    "openai": ["openai._exceptions"],
    "anthropic": ["anthropic"],
    "github": ["github.GithubException"],
    "slack_sdk": ["slack_sdk.errors"],
    "stripe": ["stripe._error", "stripe.oauth_error"],
}

WITHOUT_A_RULE = {
    "psycopg.Rollback": "ends a block of psycopg's own, and never leaves it",
    "psycopg.Warning": "named in PEP 249, raised by nobody",
    "psycopg2.Warning": "named in PEP 249, raised by nobody",
    "mysql.Warning": "named in PEP 249, raised by nobody",
    "_duckdb.Warning": "named in PEP 249, raised by nobody",
}


@pytest.mark.parametrize("package", LIBRARIES)
def test_every_exception_of_a_service_has_a_rule_or_a_reason(package: str) -> None:
    classes = exception_classes(LIBRARIES[package], package)
    bare = {f"{package}.{cls.__name__}" for cls in classes if not rules.plan_of(cls).libraries}

    assert classes
    assert sorted(bare - set(WITHOUT_A_RULE)) == []


def test_a_reason_is_given_only_where_there_is_no_rule() -> None:
    classes = [cls for package, modules in LIBRARIES.items() for cls in exception_classes(modules, package)]
    bare = {f"{cls.__module__.partition('.')[0]}.{cls.__name__}" for cls in classes if not rules.plan_of(cls).libraries}

    assert set(WITHOUT_A_RULE) - bare == set()
