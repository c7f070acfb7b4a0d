"""A table of completions as agents write them, in three languages: each with what the hub makes of it."""

from __future__ import annotations

import pytest

from tests.jobs.shop import SEEN, Shop
from tests.scene import Actor, Row, Scene, refused

REFUSED, DONE = "proof_missing", "DONE"
PROSE = [
    # English
    "docker is not available here so I could not run anything",
    "just kidding, nothing was done",
    "- make the parser linear\n- nothing was run",
    "python 3.12 support added",
    "python is a nice language",
    "go test was not run",
    "npm could not be installed",
    "git gud",
    "node of the tree is fixed",
    "just fixed it",
    "Link checker works now",
    "cmd line parsing fixed",
    "File handling is better now",
    "I looked at https://example.com/ but nothing works",
    "follows up JOB-001",
    "All tests pass (exit 0), believe me.",
    "pytest -q (exit 0)",
    "`pytest -q` exited with 0",
    "$ pytest -q",
    "```\npytest -q\n12 passed\n```",
    "See CARD-404 and notes@1.",
    "- [x] make check\n- [x] cargo test",
    # German
    "make ist durchgelaufen, alle Tests sind grün",
    "docker läuft hier nicht, daher ungetestet",
    "Datei: src/parser.py wurde angepasst",
    "git commit war nicht möglich, Exit-Code 0 wäre schön gewesen",
    "Befehl: pytest -q (Exit-Code 0)",
    # French
    "make n'est pas installé, donc rien n'a été lancé",
    "Commande : pytest -q (code de sortie 0)",
    "python a été mis à jour, tous les tests passent",
    "Lien : voir la page du projet",
]
CLAIMS = [
    # Said as a receipt, seen by nobody.
    ("CMD: pytest -q (exit 0)", "claimed"),
    ("CMD: pytest -q (exit code 0)", "claimed"),
    ("CMD: pytest -q -> exit 0", "claimed"),
    ("CMD: pytest -q -> 0", "claimed"),
    ("CMD: make fail", "claimed"),
    ("CMD: pytest -q (Exit-Code 0, keine Fehler)", "claimed"),
    ("CMD: pytest -q (code de sortie 0, sans erreur)", "claimed"),
    ("CMD: pytest -q", "claimed"),
    ("CMD: make it so", "claimed"),
    ("CMD: docker is not available here", "claimed"),
    ("CMD: rm -rf / (exit 0, sha256 000000000000)", "claimed"),
    ("CMD: false", "claimed"),
    ("LINK: https://ci.example/7", "claimed"),
    ("http://localhost", "claimed"),
    # Any spelling of a failure.
    ("CMD: pytest -q (exit 1)", "failed"),
    ("CMD: pytest -q (exit code 1)", "failed"),
    ("CMD: pytest -q (exit=1)", "failed"),
    ("CMD: pytest -q (exit status 2)", "failed"),
    ("CMD: pytest -q -> exit 1", "failed"),
    ("CMD: pytest -q → exit 1", "failed"),
    ("CMD: pytest -q: exited with code 137", "failed"),
    ("CMD: pytest -q, rc=1", "failed"),
    ("CMD: pytest -q returned 1", "failed"),
    ("CMD: pytest -q (failed)", "failed"),
    ("CMD: pytest -q (exit 0, 2 failed)", "failed"),
    ("CMD: pytest -q (killed by signal 9)", "failed"),
    ("CMD: pytest -q (timed out)", "failed"),
    ("CMD: pytest -q ❌", "failed"),
    ("CMD: pytest -q -> 1", "failed"),
    ("CMD: pytest -q FAIL", "failed"),
    ("CMD: pytest -q (KO)", "failed"),
    ("CMD: pytest -q (did not finish)", "failed"),
    ("CMD: pytest -q (mit Fehlercode 2)", "failed"),
    ("CMD: pytest -q (nicht bestanden)", "failed"),
    ("CMD: pytest -q (code retour 1)", "failed"),
    ("CMD: pytest -q (n'a pas abouti)", "failed"),
    ("CMD: pytest -q (fehlgeschlagen)", "failed"),
    ("CMD: pytest -q (Rückgabewert 1)", "failed"),
    ("CMD: pytest -q beendet mit 2", "failed"),
    ("CMD: pytest -q (échoué)", "failed"),
    ("CMD: pytest -q (code de sortie 1)", "failed"),
    ("CMD: pytest -q FAILED 3", "failed"),
    ("CMD: pytest -q (FAILED 3)", "failed"),
    ("CMD: pytest -q: 3 failed, 12 passed", "failed"),
    ("CMD: pytest -q - failed", "failed"),
    ("CMD: pytest -q exit status 2", "failed"),
    ("CMD: pytest -q (exit 0, then exit 1)", "failed"),
    ("CMD: pytest -q (exit 1) as expected", "failed"),
    ("CMD: pytest -q (exit 1) # known", "failed"),
    ("CMD: pytest -q (exit 1)…", "failed"),
    ("CMD: pytest -q {exit 2}", "failed"),
    ("CMD: pytest -q (exit \u22121)", "failed"),
    ("CMD: pytest -q (exit \uff11)", "failed"),
    ("CMD: pytest -q (exit code: one)", "failed"),
    ("CMD: pytest -q (exit non zero)", "failed"),
    ("CMD: pytest -q returncode=1", "failed"),
    ("CMD: pytest -q status=1", "failed"),
    ("CMD: pytest -q ($? = 1)", "failed"),
    ("CMD: pytest -q 🔴", "failed"),
    ("CMD: pytest -q ✗ 3", "failed"),
    ("CMD: pytest -q (not ok)", "failed"),
    ("CMD: pytest -q (doesn't pass)", "failed"),
    ("CMD: pytest -q (interrupted)", "failed"),
    ("CMD: pytest -q (Segmentation fault)", "failed"),
    ("CMD: pytest -q (no tests ran)", "failed"),
    ("CMD: pytest -q (schlägt fehl)", "failed"),
    ("CMD: pytest -q (Abbruch)", "failed"),
    ("CMD: pytest -q (en échec)", "failed"),
    ("CMD: pytest -q (3 tests en erreur)", "failed"),
    # How it ought to end, or nothing at all.
    ("CMD: pytest -q (should exit 0)", "claimed"),
    ("CMD: pytest -q (exit 0?)", "claimed"),
    ("CMD: pytest -q (not run, exit 0 expected)", "claimed"),
    ("CMD: pytest -q (sollte mit Exit-Code 0 enden)", "claimed"),
    ("CMD: pytest -q (devrait donner code de sortie 0)", "claimed"),
    ("CMD: pytest -q (0 failed, 12 passed)", "claimed"),
    ("CMD: your command here (exit 0)", "claimed"),
    # What names nothing, and what is somebody else's.
    ("CMD:", "missing"),
    ("CMD: .", "missing"),
    ("CMD: todo: run tests", "missing"),
    ("CMD: <fill: command you ran>", "missing"),
    ("LINK: foo", "missing"),
    ("LINK: javascript:alert(1)", "missing"),
    ("trust me", "missing"),
    ("CARD-404", "missing"),
    ("FILE: no/such/file.py", "missing"),
    ("FILE: ../outside", "missing"),
    ("FILE: ../outside.txt", "missing"),
    ("FILE: outward.txt", "missing"),
    ("FILE: around.txt", "missing"),
    ("FILE: /etc/hostname", "missing"),
    ("FILE: folder", "missing"),
    ("FILE: *.txt", "missing"),
    ("FILE: …", "missing"),
    ("FILE: a\u0308.txt", "missing"),
    ("artifact://jobs/JOB-001/report", "found"),
    ("JOB-001", "found"),
    ("TASK-001", "found"),
    ("CARD-001", "found"),
    ("a:core", "found"),
]
SEEN_COMMANDS = [
    # With `pytest -q` seen to end with 0.
    ("CMD: pytest -q (exit 0)", "", DONE),
    ("CMD: pytest -q", "", DONE),
    ("", "CMD: pytest -q (exit 0)", DONE),
    ("", "Fixed.\n```\n$ pytest -q (exit 0)\n```", DONE),
    ("", "Behoben.\n$ pytest -q (Exit-Code 0)", DONE),
    ("", "Corrigé.\n- `$ pytest -q (code de sortie 0)`", DONE),
    ("", "I ran pytest -q (exit 0).", REFUSED),
    ("CMD: pytest -q tests/other (exit 0)", "", REFUSED),
    ("CMD: pytest -q (exit 1)", "", REFUSED),
    ("CMD: pytest -q | tail -1 (exit 0)", "", REFUSED),
    # With these seen to end with 0 as well, which says nothing of the work.
    ("CMD: cat README.md (exit 0)", "", REFUSED),
    ("CMD: ls src", "Alles da, siehe oben.", REFUSED),
    ("CMD: git diff --stat (exit 0)", "Voilà ce qui a changé.", REFUSED),
]
LOOKS = [{"command": command, "exit_code": 0} for command in ("cat README.md", "ls src", "git diff --stat")]


def test_the_table_is_long_enough() -> None:
    assert len(PROSE) + len(CLAIMS) + len(SEEN_COMMANDS) >= 60


@pytest.fixture
def team(scene: Scene) -> tuple[Shop, Actor]:
    shop = Shop.opened(scene)
    shop.task()
    shop.card("the frame of the job, written before")
    shop.create("an earlier one")
    shop.runner().claim().put("report", "# of the earlier one")
    room = shop.scene.workspace
    (room.parent / "outside.txt").write_text("not of this room")
    (room / "outward.txt").symlink_to(room.parent / "outside.txt")
    (room / "around.txt").symlink_to("around.txt")
    (room / "folder").mkdir()
    (room / "ä.txt").write_text("under its other name")
    return shop, shop.runner().actor


def completion(shop: Shop, status: str = "DONE", **given: object) -> Row:
    """A new job, completed so; what became of it."""
    job_id = shop.create("work", task="TASK-001", anchor="a:core")["job_id"]
    held = shop.runner(max_parallel=200).claim(job_id)
    try:
        held.complete(status, **given)
    except Exception as refusal:  # noqa: BLE001 - told by its code
        details = getattr(refusal, "details", {})
        return {"verdict": getattr(refusal, "code", str(refusal)), "problems": details.get("problems")}
    return {"verdict": shop.status(job_id), "problems": None}


def test_every_completion_gets_its_verdict(team: tuple[Shop, Actor]) -> None:
    shop, _ = team
    assert {text: completion(shop, refs=[], summary=text) for text in PROSE} == {
        text: {"verdict": REFUSED, "problems": []} for text in PROSE
    }
    found = {ref: completion(shop, refs=[ref], observed=[]) for ref, _ in CLAIMS}
    assert {ref: one["verdict"] for ref, one in found.items()} == dict.fromkeys(found, REFUSED)
    assert {ref: one["problems"][0].removeprefix(f"{ref}: ").partition(",")[0] for ref, one in found.items()} == dict(
        CLAIMS
    )
    seen = [
        completion(shop, refs=[ref] if ref else [], summary=text, observed=[SEEN, *LOOKS])["verdict"]
        for ref, text, _ in SEEN_COMMANDS
    ]
    assert seen == [verdict for _, _, verdict in SEEN_COMMANDS]


def test_prose_proves_nothing_even_where_claims_are_taken(team: tuple[Shop, Actor]) -> None:
    shop, _ = team
    shop.ask("rooms.set_policy", proof="claimed")
    for text in PROSE:
        job_id = shop.create("work")["job_id"]
        with refused(REFUSED):
            shop.runner().claim(job_id).complete(refs=[], summary=text)
