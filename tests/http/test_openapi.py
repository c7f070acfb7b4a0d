"""The API's own description: complete, valid, and kept by every response that a fuzzer can provoke."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from tallystick.hub.registry import OPERATIONS
from tallystick.surfaces.http.calls import only_reads
from tests.http.running import Json, RunningHub

HERE = Path(__file__).parent
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "ignored_auth",
    "unsupported_method",
)


def described(hub: RunningHub) -> Json:
    reply = hub.user.get("/v1/openapi.json")
    assert reply.status == 200
    return reply.json


def test_every_operation_is_described_with_its_own_words(hub: RunningHub) -> None:
    paths = cast("dict[str, dict[str, Json]]", described(hub)["paths"])

    found = {
        name: (methods["post"]["operationId"], methods["post"]["description"], "get" in methods)
        for name, methods in ((path.removeprefix("/v1/"), methods) for path, methods in paths.items())
        if name in OPERATIONS
    }

    assert found == {name: (name, operation.doc, only_reads(operation)) for name, operation in OPERATIONS.items()}


def test_every_reference_in_the_description_leads_somewhere(hub: RunningHub) -> None:
    document = described(hub)

    def lost(node: object) -> list[str]:
        if isinstance(node, dict):
            inner = cast("Json", node)
            here = [str(inner["$ref"])] if "$ref" in inner and not _there(document, str(inner["$ref"])) else []
            return here + [each for value in inner.values() for each in lost(value)]
        return [each for value in cast("list[object]", node) for each in lost(value)] if isinstance(node, list) else []

    assert lost(document) == []


def _there(document: Json, reference: str) -> bool:
    node = document
    for step in reference.removeprefix("#/").split("/"):
        if step not in node:
            return False
        node = cast("Json", node[step])
    return True


def test_every_status_lists_the_codes_it_may_carry(hub: RunningHub) -> None:
    responses = cast("dict[str, Json]", cast("Json", described(hub)["components"])["responses"])

    conflict = cast("Json", cast("Json", responses["Refused409"]["content"])["application/json"])
    _, exact = cast("list[Json]", cast("Json", conflict["schema"])["allOf"])
    error = cast("Json", cast("Json", exact["properties"])["error"])
    codes = cast("list[str]", cast("Json", cast("Json", error["properties"])["code"])["enum"])
    assert {"stale_lease", "turn_mismatch", "idempotency_conflict", "room_closed"} <= set(codes)


def fuzz(hub: RunningHub, *, examples: int, phases: str) -> None:
    rooms = " ".join(hub.user.room() for _ in range(3))
    found = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "--config-file", HERE / "programs" / "schemathesis.toml"),
            *("run", f"http://127.0.0.1:{hub.port}/v1/openapi.json"),
            *("--header", f"Authorization: Bearer {hub.user.token}"),
            # A stream has no end to wait for.
            *("--exclude-path", "/v1/events", "--exclude-path", "/v1/bus/stream"),
            *("--checks", ",".join(CHECKS), "--phases", phases, "--max-examples", str(examples)),
            *("--suppress-health-check", "all", "--request-timeout", "30", "--no-color"),
        ],
        env={**hub.settings, "SCHEMATHESIS_HOOKS": "tests.http.programs.fuzz_hooks", "FUZZ_ROOMS": rooms},
        cwd=HERE.parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )

    assert found.returncode == 0, found.stdout[-8000:] + found.stderr
    assert [line for line in hub.log() if line["level"] == "error"] == []


def test_a_few_hundred_odd_requests_get_documented_answers(process_hub: RunningHub) -> None:
    fuzz(process_hub, examples=2, phases="examples,fuzzing")


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_thousands_of_odd_requests_get_documented_answers(process_hub: RunningHub) -> None:
    fuzz(process_hub, examples=20, phases="examples,coverage,fuzzing")
