"""Real SDKs of clouds against answers on loopback, and a real gRPC server."""

import asyncio
import functools
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import azure.core
import azure.core.exceptions
import azure.core.pipeline.policies
import azure.core.rest
import boto3
import botocore.config
import botocore.exceptions
import google.api_core.exceptions
import google.api_core.grpc_helpers
import google.api_core.retry
import google.auth
import google.auth.exceptions
import google.auth.transport.requests
import google.oauth2.credentials
import googleapiclient.http
import grpc
import grpc.aio
import httplib2
import kubernetes.client
import kubernetes.config
import pytest
import requests
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2

from failwell.exceptions.grpc import Details, read_details
from tests.exceptions import loopback
from tests.exceptions.caught import caught
from tests.exceptions.seen import mapped, seen
from tests.exceptions.servers import answering_whole, closing_whole, hanging_whole

SHORT = 0.2


@functools.cache
def _session() -> boto3.Session:
    return boto3.Session(aws_access_key_id="planted", aws_secret_access_key="planted", region_name="eu-west-1")


def _aws(service: str, url: str, patience: float = 5) -> Any:
    config = botocore.config.Config(
        retries={"total_max_attempts": 1},
        connect_timeout=patience,
        read_timeout=patience,
        s3={"addressing_style": "path"},
    )
    return _session().client(service, endpoint_url=url, config=config)


def _get_item(url: str, patience: float = 5) -> None:
    _aws("dynamodb", url, patience).get_item(TableName="planted", Key={"id": {"S": "planted"}})


def _get_object(url: str, patience: float = 5) -> None:
    _aws("s3", url, patience).get_object(Bucket="planted", Key="planted")


AWS = [
    (400, "ThrottlingException", "TRANSIENT RATE_LIMITED not_executed"),
    (400, "ProvisionedThroughputExceededException", "TRANSIENT RATE_LIMITED not_executed"),
    (400, "RequestLimitExceeded", "TRANSIENT RATE_LIMITED not_executed"),
    (400, "ServiceQuotaExceededException", "PERMISSION QUOTA_EXHAUSTED rejected"),
    (400, "ResourceNotFoundException", "NOT_FOUND NOT_FOUND rejected"),
    (400, "StateMachineDoesNotExist", "NOT_FOUND NOT_FOUND rejected"),
    (400, "AccessDeniedException", "PERMISSION FORBIDDEN rejected"),
    (400, "UnrecognizedClientException", "PERMISSION UNAUTHORIZED rejected"),
    (400, "ExpiredTokenException", "PERMISSION UNAUTHORIZED rejected"),
    (400, "ConditionalCheckFailedException", "CONFLICT PRECONDITION_FAILED rejected"),
    (400, "TransactionConflictException", "CONFLICT CONCURRENT_MODIFICATION not_executed"),
    (400, "ResourceInUseException", "CONFLICT RESOURCE_BUSY rejected"),
    (400, "ValidationException", "VALIDATION INVALID_ARGUMENT rejected"),
    (400, "IdempotentParameterMismatchException", "CONFLICT IDEMPOTENCY_MISMATCH rejected"),
    (400, "PlantedByNobodyException", "VALIDATION INVALID_ARGUMENT rejected"),
    (500, "InternalServerError", "TRANSIENT UPSTREAM_ERROR unknown"),
    (503, "ServiceUnavailableException", "TRANSIENT SERVICE_UNAVAILABLE unknown"),
]


@pytest.mark.parametrize(("status", "code", "expected"), AWS)
def test_the_code_of_an_aws_service_beats_its_status(
    serve: Callable[..., str], status: int, code: str, expected: str
) -> None:
    exc = caught(
        _get_item, serve(answering_whole(status, body={"__type": f"com.amazonaws#{code}", "message": "planted"}))
    )

    assert isinstance(exc, botocore.exceptions.ClientError)
    assert seen(exc) == expected


S3 = [
    (404, "NoSuchKey", "NOT_FOUND NOT_FOUND rejected"),
    (403, "AccessDenied", "PERMISSION FORBIDDEN rejected"),
    (403, "InvalidAccessKeyId", "PERMISSION UNAUTHORIZED rejected"),
    (403, "SignatureDoesNotMatch", "PERMISSION UNAUTHORIZED rejected"),
    (503, "SlowDown", "TRANSIENT RATE_LIMITED not_executed"),
    (409, "OperationAborted", "CONFLICT CONCURRENT_MODIFICATION rejected"),
    (412, "PreconditionFailed", "CONFLICT PRECONDITION_FAILED rejected"),
    (400, "RequestTimeout", "TRANSIENT UPSTREAM_TIMEOUT unknown"),
    (416, "InvalidRange", "VALIDATION OUT_OF_RANGE rejected"),
]


@pytest.mark.parametrize(("status", "code", "expected"), S3)
def test_what_s3_answers_is_told(serve: Callable[..., str], status: int, code: str, expected: str) -> None:
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>planted</Message></Error>".encode()

    exc = caught(_get_object, serve(answering_whole(status, {"Content-Type": "application/xml"}, body)))

    assert seen(exc) == expected


def test_how_long_aws_asks_to_wait_is_told(serve: Callable[..., str]) -> None:
    url = serve(answering_whole(400, {"x-amz-retry-after": "2500"}, {"__type": "ThrottlingException"}))

    assert mapped(caught(_get_item, url)).retry_after == 2.5


def test_aws_calls_fail_before_or_while_something_is_executed(
    serve: Callable[..., str], refused: str, unanswered: str
) -> None:
    assert seen(caught(_get_item, refused)) == "TRANSIENT CONNECTION_REFUSED not_executed"
    assert seen(caught(_get_item, unanswered, SHORT)) == "TRANSIENT CONNECT_TIMEOUT not_executed"
    assert seen(caught(_get_item, serve(hanging_whole), SHORT)) == "TRANSIENT UPSTREAM_TIMEOUT unknown"
    assert seen(caught(_get_item, serve(closing_whole))) == "TRANSIENT CONNECTION_LOST unknown"


def test_what_botocore_refuses_by_itself_executes_nothing(monkeypatch: pytest.MonkeyPatch, refused: str) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "/nonexistent/planted")
    client = _aws("dynamodb", refused)
    anonymous = boto3.Session(region_name="eu-west-1").client("dynamodb", endpoint_url=refused)

    assert (
        seen(caught(lambda: client.get_item(TableName="planted", Key=7))) == "VALIDATION INVALID_ARGUMENT not_executed"
    )
    assert seen(caught(lambda: anonymous.list_tables())) == "PERMISSION UNAUTHORIZED not_executed"
    assert seen(caught(lambda: boto3.Session().client("dynamodb"))) == "INTERNAL CONFIG_ERROR not_executed"
    assert seen(caught(lambda: boto3.Session(profile_name="planted"))) == "INTERNAL CONFIG_ERROR not_executed"
    assert seen(caught(lambda: boto3.Session().client("planted", "eu-west-1"))) == "INTERNAL CONFIG_ERROR not_executed"


def test_a_failed_upload_is_told_by_the_error_it_was_raised_from(serve: Callable[..., str], tmp_path: Any) -> None:
    file = tmp_path / "planted"
    file.write_text("planted")
    body = b"<Error><Code>AccessDenied</Code><Message>planted</Message></Error>"
    url = serve(answering_whole(403, {"Content-Type": "application/xml"}, body))

    exc = caught(_aws("s3", url).upload_file, str(file), "planted", "planted")

    assert seen(exc) == "PERMISSION FORBIDDEN rejected"


class Refusing(grpc.GenericRpcHandler):
    """Refuses every method with the status code it is named for; `Hang` is never answered."""

    def __init__(self) -> None:
        self.trailing: tuple[tuple[str, str | bytes], ...] = ()

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        name = handler_call_details.method.rpartition("/")[2]

        def handle(_: bytes, context: grpc.ServicerContext) -> bytes:
            if name == "Hang":
                futures.wait([futures.Future()], timeout=0.5)
            if name == "Broken":
                raise RuntimeError("planted")
            context.set_trailing_metadata(self.trailing)
            context.abort(
                grpc.StatusCode[name] if name in grpc.StatusCode.__members__ else grpc.StatusCode.OK, "planted"
            )

        return grpc.unary_unary_rpc_method_handler(handle)


@pytest.fixture(scope="module")
def refusing_rpc() -> Iterator[tuple[str, Refusing]]:
    handler = Refusing()
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    server.add_generic_rpc_handlers((handler,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}", handler
    server.stop(None).wait()


GRPC = {
    "CANCELLED": "INTERNAL OUTCOME_UNKNOWN unknown",
    "UNKNOWN": "INTERNAL UPSTREAM_ERROR unknown",
    "INVALID_ARGUMENT": "VALIDATION INVALID_ARGUMENT rejected",
    "DEADLINE_EXCEEDED": "TRANSIENT UPSTREAM_TIMEOUT unknown",
    "NOT_FOUND": "NOT_FOUND NOT_FOUND rejected",
    "ALREADY_EXISTS": "CONFLICT ALREADY_EXISTS rejected",
    "PERMISSION_DENIED": "PERMISSION FORBIDDEN rejected",
    "UNAUTHENTICATED": "PERMISSION UNAUTHORIZED rejected",
    "RESOURCE_EXHAUSTED": "TRANSIENT RATE_LIMITED not_executed",
    "FAILED_PRECONDITION": "CONFLICT PRECONDITION_FAILED rejected",
    "ABORTED": "CONFLICT CONCURRENT_MODIFICATION rejected",
    "OUT_OF_RANGE": "VALIDATION OUT_OF_RANGE rejected",
    "UNIMPLEMENTED": "INTERNAL NOT_IMPLEMENTED rejected",
    "INTERNAL": "INTERNAL UPSTREAM_ERROR unknown",
    "UNAVAILABLE": "TRANSIENT SERVICE_UNAVAILABLE unknown",
    "DATA_LOSS": "INTERNAL UPSTREAM_ERROR unknown",
    "Broken": "INTERNAL UPSTREAM_ERROR unknown",
}  # fmt: skip


def _grpc(target: str, method: str, patience: float = 5) -> None:
    with grpc.insecure_channel(target) as channel:
        channel.unary_unary(f"/planted.Service/{method}")(b"planted", timeout=patience)


def _grpc_aio(target: str, method: str, patience: float = 5) -> None:
    async def call() -> None:
        async with grpc.aio.insecure_channel(target) as channel:
            await channel.unary_unary(f"/planted.Service/{method}")(b"planted", timeout=patience)

    asyncio.run(call())


def _google_grpc(target: str, method: str, patience: float = 5) -> None:
    with grpc.insecure_channel(target) as channel:
        call = google.api_core.grpc_helpers.wrap_errors(channel.unary_unary(f"/planted.Service/{method}"))
        call(b"planted", timeout=patience)


@pytest.mark.parametrize("name", GRPC)
@pytest.mark.parametrize("call", [_grpc, _grpc_aio, _google_grpc], ids=lambda call: call.__name__)
def test_what_grpc_refuses_is_told_by_its_status_code(
    refusing_rpc: tuple[str, Refusing], call: Callable[..., None], name: str
) -> None:
    exc = caught(call, refusing_rpc[0], name)

    assert seen(exc) == GRPC[name]


def test_every_status_code_of_grpc_was_refused_with() -> None:
    assert {code.name for code in grpc.StatusCode} - set(GRPC) == {"OK"}


@pytest.mark.parametrize("call", [_grpc, _grpc_aio, _google_grpc], ids=lambda call: call.__name__)
def test_grpc_calls_that_are_late_or_unconnected_have_an_unknown_outcome(
    refusing_rpc: tuple[str, Refusing], call: Callable[..., None]
) -> None:
    with loopback.refusing() as port:
        unconnected = caught(call, f"127.0.0.1:{port}", "NOT_FOUND")

    assert seen(caught(call, refusing_rpc[0], "Hang", SHORT)) == "TRANSIENT UPSTREAM_TIMEOUT unknown"
    assert seen(unconnected) == "TRANSIENT SERVICE_UNAVAILABLE unknown"


def _details(*messages: Any) -> bytes:
    packed = []
    for message in messages:
        packed.append(any_pb2.Any())
        packed[-1].Pack(message)
    return status_pb2.Status(code=8, message="planted", details=packed).SerializeToString()


@pytest.fixture
def trailing(refusing_rpc: tuple[str, Refusing]) -> Iterator[Callable[..., None]]:
    handler = refusing_rpc[1]

    def send(*pairs: tuple[str, str | bytes]) -> None:
        handler.trailing = pairs

    yield send
    handler.trailing = ()


@pytest.mark.parametrize("call", [_grpc, _grpc_aio, _google_grpc], ids=lambda call: call.__name__)
def test_the_delay_of_retry_info_is_told(
    refusing_rpc: tuple[str, Refusing], trailing: Callable[..., None], call: Callable[..., None]
) -> None:
    delay = error_details_pb2.RetryInfo(retry_delay=duration_pb2.Duration(seconds=3, nanos=500_000_000))
    trailing(("grpc-status-details-bin", _details(error_details_pb2.Help(), delay)))

    failure = mapped(caught(call, refusing_rpc[0], "RESOURCE_EXHAUSTED"))

    assert (failure.code, failure.retry_after) == ("RATE_LIMITED", 3.5)


@pytest.mark.parametrize("call", [_grpc, _google_grpc], ids=lambda call: call.__name__)
def test_the_reason_of_error_info_beats_the_status_code(
    refusing_rpc: tuple[str, Refusing], trailing: Callable[..., None], call: Callable[..., None]
) -> None:
    reason = error_details_pb2.ErrorInfo(reason="API_KEY_INVALID", domain="planted.example")
    trailing(("grpc-status-details-bin", _details(reason)))

    assert seen(caught(call, refusing_rpc[0], "RESOURCE_EXHAUSTED")) == "PERMISSION UNAUTHORIZED rejected"


@pytest.mark.parametrize(
    ("pushback", "expected"), [("1500", (True, 1.5)), ("-1", (False, None)), ("soon", (False, None))]
)
def test_the_pushback_of_a_grpc_server_decides_whether_to_try_again(
    refusing_rpc: tuple[str, Refusing],
    trailing: Callable[..., None],
    pushback: str,
    expected: tuple[bool, float | None],
) -> None:
    trailing(("grpc-retry-pushback-ms", pushback))

    failure = mapped(caught(_grpc, refusing_rpc[0], "UNAVAILABLE"))

    assert (failure.retryable, failure.retry_after) == expected


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff" * 20,
        b"\x1a\xff\xff\xff\xff\x0f",
        b"\x1a\x05abc",
        b"\x1b",
        bytes(100),
        "text",
        None,
        b"\x1a" * 20_000,
    ],
)
def test_unreadable_details_say_nothing(data: object) -> None:
    assert read_details(data) == Details()


@pytest.mark.parametrize("cut", range(0, 60, 3))
def test_details_cut_off_anywhere_say_nothing_wrong(cut: int) -> None:
    delay = error_details_pb2.RetryInfo(retry_delay=duration_pb2.Duration(seconds=3))
    whole = _details(delay)

    assert read_details(whole).retry_after == 3
    assert read_details(whole[:cut]).retry_after in (None, 3)


def test_a_call_that_google_gave_up_on_is_told_by_its_last_error(refusing_rpc: tuple[str, Refusing]) -> None:
    retry = google.api_core.retry.Retry(timeout=0.01, initial=0.01)

    exc = caught(retry(_google_grpc), refusing_rpc[0], "UNAVAILABLE")

    assert type(exc).__name__ == "RetryError"
    assert seen(exc) == "TRANSIENT SERVICE_UNAVAILABLE unknown"


def _google_rest(url: str, patience: float = 5) -> None:
    response = requests.get(url, timeout=patience)
    raise google.api_core.exceptions.from_http_response(response)


def _google_error(reason: str = "", **more: Any) -> dict[str, Any]:
    return {"error": {"message": "planted", "errors": [{"reason": reason, "message": "planted"}], **more}}


def _discovered(url: str, patience: float = 5) -> None:
    http = httplib2.Http(timeout=patience)
    googleapiclient.http.HttpRequest(http, lambda *_: None, f"{url}/planted").execute()


GOOGLE = [
    (400, _google_error("invalid"), "VALIDATION INVALID_ARGUMENT rejected"),
    (401, _google_error("authError"), "PERMISSION UNAUTHORIZED rejected"),
    (403, _google_error("rateLimitExceeded"), "TRANSIENT RATE_LIMITED not_executed"),
    (403, _google_error("userRateLimitExceeded"), "TRANSIENT RATE_LIMITED not_executed"),
    (403, _google_error("dailyLimitExceeded"), "PERMISSION QUOTA_EXHAUSTED rejected"),
    (403, _google_error("forbidden"), "PERMISSION FORBIDDEN rejected"),
    (404, _google_error("notFound"), "NOT_FOUND NOT_FOUND rejected"),
    (409, _google_error("alreadyExists"), "CONFLICT ALREADY_EXISTS rejected"),
    (409, _google_error("conflict"), "CONFLICT CONFLICT rejected"),
    (412, _google_error("conditionNotMet"), "CONFLICT PRECONDITION_FAILED rejected"),
    (429, _google_error("rateLimitExceeded"), "TRANSIENT RATE_LIMITED not_executed"),
    (500, _google_error("backendError"), "TRANSIENT UPSTREAM_ERROR unknown"),
    (503, _google_error("backendError"), "TRANSIENT UPSTREAM_ERROR unknown"),
    (504, b"planted", "TRANSIENT UPSTREAM_TIMEOUT unknown"),
]


@pytest.mark.parametrize(("status", "body", "expected"), GOOGLE)
@pytest.mark.parametrize("call", [_google_rest, _discovered], ids=lambda call: call.__name__)
def test_what_google_answers_is_told_by_its_reason_and_status(
    serve: Callable[..., str], call: Callable[..., None], status: int, body: Any, expected: str
) -> None:
    exc = caught(call, serve(answering_whole(status, body=body)))

    assert seen(exc) == expected


@pytest.mark.parametrize("call", [_google_rest, _discovered], ids=lambda call: call.__name__)
def test_how_long_google_asks_to_wait_is_told(serve: Callable[..., str], call: Callable[..., None]) -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "12s"}
    by_body = serve(answering_whole(429, body=_google_error("rateLimitExceeded", details=[info])))
    by_header = serve(answering_whole(503, {"Retry-After": "9"}, _google_error()))

    assert mapped(caught(call, by_body)).retry_after == 12
    assert mapped(caught(call, by_header)).retry_after == 9


def test_a_token_that_google_refuses_or_cannot_refresh_executes_nothing(
    serve: Callable[..., str], refused: str
) -> None:
    def refresh(url: str) -> None:
        credentials = google.oauth2.credentials.Credentials(
            None, refresh_token="planted", token_uri=url, client_id="planted", client_secret="planted"
        )
        credentials.refresh(google.auth.transport.requests.Request())

    denied = serve(answering_whole(400, body={"error": "invalid_grant", "error_description": "planted"}))

    assert seen(caught(refresh, denied)) == "PERMISSION UNAUTHORIZED not_executed"
    assert seen(caught(refresh, refused)) == "TRANSIENT CONNECTION_FAILED not_executed"


def test_missing_credentials_of_google_execute_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nonexistent/planted")

    assert seen(caught(google.auth.default)) == "PERMISSION UNAUTHORIZED not_executed"


def _read_pod(url: str, patience: float = 5) -> None:
    configuration = kubernetes.client.Configuration(host=url)
    configuration.retries = 0
    with kubernetes.client.ApiClient(configuration) as client:
        kubernetes.client.CoreV1Api(client).read_namespaced_pod("planted", "planted", _request_timeout=patience)


def _status(reason: str, **details: Any) -> dict[str, Any]:
    return {"kind": "Status", "status": "Failure", "message": "planted", "reason": reason, "details": details}


KUBERNETES = [
    (400, _status("BadRequest"), "VALIDATION INVALID_ARGUMENT rejected"),
    (401, _status("Unauthorized"), "PERMISSION UNAUTHORIZED rejected"),
    (403, _status("Forbidden"), "PERMISSION FORBIDDEN rejected"),
    (404, _status("NotFound"), "NOT_FOUND NOT_FOUND rejected"),
    (409, _status("AlreadyExists"), "CONFLICT ALREADY_EXISTS rejected"),
    (409, _status("Conflict"), "CONFLICT CONFLICT rejected"),
    (410, _status("Expired"), "NOT_FOUND GONE rejected"),
    (422, _status("Invalid"), "VALIDATION INVALID_ARGUMENT rejected"),
    (429, _status("TooManyRequests"), "TRANSIENT RATE_LIMITED not_executed"),
    (500, _status("InternalError"), "TRANSIENT UPSTREAM_ERROR unknown"),
    (503, _status("ServiceUnavailable"), "TRANSIENT SERVICE_UNAVAILABLE unknown"),
    (504, _status("Timeout"), "TRANSIENT UPSTREAM_TIMEOUT unknown"),
]


@pytest.mark.parametrize(("status", "body", "expected"), KUBERNETES)
def test_what_kubernetes_answers_is_told_by_its_reason(
    serve: Callable[..., str], status: int, body: Any, expected: str
) -> None:
    exc = caught(_read_pod, serve(answering_whole(status, body=body)))

    assert seen(exc) == expected


def test_how_long_kubernetes_asks_to_wait_is_told(serve: Callable[..., str]) -> None:
    url = serve(answering_whole(429, body=_status("TooManyRequests", retryAfterSeconds=4)))

    assert mapped(caught(_read_pod, url)).retry_after == 4


def test_kubernetes_calls_fail_before_or_while_something_is_executed(serve: Callable[..., str], refused: str) -> None:
    assert seen(caught(_read_pod, refused)) == "TRANSIENT CONNECTION_REFUSED not_executed"
    assert seen(caught(_read_pod, serve(hanging_whole), SHORT)) == "TRANSIENT UPSTREAM_TIMEOUT unknown"


def test_a_missing_kubeconfig_executes_nothing() -> None:
    exc = caught(lambda: kubernetes.config.load_kube_config("/nonexistent/planted"))

    assert seen(exc) == "INTERNAL CONFIG_ERROR not_executed"


def _azure(url: str, patience: float = 5) -> None:
    policies = [azure.core.pipeline.policies.RetryPolicy(retry_total=0)]
    client: azure.core.PipelineClient[Any, Any] = azure.core.PipelineClient(url, policies=policies)
    with client:
        request = azure.core.rest.HttpRequest("PUT", url, content=b"planted")
        response = client.send_request(request, connection_timeout=patience, read_timeout=patience)
        errors = azure.core.exceptions
        errors.map_error(
            response.status_code,
            response,
            {
                401: errors.ClientAuthenticationError,
                404: errors.ResourceNotFoundError,
                409: errors.ResourceExistsError,
                412: errors.ResourceModifiedError,
            },
        )
        response.raise_for_status()


def _azure_error(code: str, **more: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": "planted", **more}}


AZURE = [
    (400, _azure_error("InvalidInput"), "VALIDATION INVALID_ARGUMENT rejected"),
    (401, _azure_error("Unauthorized"), "PERMISSION UNAUTHORIZED rejected"),
    (403, _azure_error("AuthenticationFailed"), "PERMISSION UNAUTHORIZED rejected"),
    (403, _azure_error("AuthorizationFailed"), "PERMISSION FORBIDDEN rejected"),
    (404, _azure_error("ResourceNotFound"), "NOT_FOUND NOT_FOUND rejected"),
    (409, _azure_error("ContainerAlreadyExists"), "CONFLICT ALREADY_EXISTS rejected"),
    (409, _azure_error("ContainerBeingDeleted"), "CONFLICT RESOURCE_BUSY rejected"),
    (409, b"planted", "CONFLICT ALREADY_EXISTS rejected"),
    (412, _azure_error("ConditionNotMet"), "CONFLICT CONCURRENT_MODIFICATION rejected"),
    (429, _azure_error("TooManyRequests"), "TRANSIENT RATE_LIMITED not_executed"),
    (500, _azure_error("OperationTimedOut"), "TRANSIENT UPSTREAM_TIMEOUT unknown"),
    (503, _azure_error("ServerBusy"), "TRANSIENT SERVER_BUSY not_executed"),
]


@pytest.mark.parametrize(("status", "body", "expected"), AZURE)
def test_what_azure_answers_is_told_by_its_code(
    serve: Callable[..., str], status: int, body: Any, expected: str
) -> None:
    exc = caught(_azure, serve(answering_whole(status, body=body)))

    assert seen(exc) == expected


def test_how_long_azure_asks_to_wait_is_told(serve: Callable[..., str]) -> None:
    url = serve(answering_whole(429, {"x-ms-retry-after-ms": "1500"}, _azure_error("TooManyRequests")))

    assert mapped(caught(_azure, url)).retry_after == 1.5


def test_azure_calls_fail_before_or_while_something_is_executed(
    serve: Callable[..., str], refused: str, unanswered: str
) -> None:
    assert seen(caught(_azure, refused)) == "TRANSIENT CONNECTION_REFUSED not_executed"
    assert seen(caught(_azure, unanswered, SHORT)) == "TRANSIENT CONNECT_TIMEOUT not_executed"
    assert seen(caught(_azure, serve(hanging_whole), SHORT)) == "TRANSIENT UPSTREAM_TIMEOUT unknown"
    assert seen(caught(_azure, serve(closing_whole))) == "TRANSIENT CONNECTION_LOST unknown"
