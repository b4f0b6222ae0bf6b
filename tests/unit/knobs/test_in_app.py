from phpdyno.knobs.in_app import judged_in_app
from phpdyno.knobs.judge import not_effective
from phpdyno.model.inside.in_app import SeenInRequest
from phpdyno.model.verdict import ProofOutcome

NAME = "output_buffering"
PROVED = ProofOutcome("ini.output_buffering", "65536", proved=True, detail="output_buffering = '65536' in the worker")
WORKER = {NAME: "65536", "memory_limit": "128M"}


def seen(target: str, begun: str, ended: str = "", file: str = "") -> SeenInRequest:
    return SeenInRequest(target, {NAME: begun}, {NAME: ended or begun}, {NAME: file} if file else {})


def judged(control: list[SeenInRequest], treated: list[SeenInRequest], outcome: ProofOutcome = PROVED) -> ProofOutcome:
    (found,) = judged_in_app([outcome], WORKER, control, treated)
    return found


def test_what_is_at_work_in_the_app_stays_proved() -> None:
    found = judged([seen("/", "0")], [seen("/", "65536")])
    assert found.proved
    assert found.detail == "output_buffering = '65536' in the worker, and in the app's own requests"


def test_a_file_of_the_directory_outdoes_it() -> None:
    found = judged([seen("/", "0", file="/srv/www/.user.ini")], [seen("/", "0", file="/srv/www/.user.ini")])
    assert not found.proved
    assert not_effective((found,)) == (
        "ini.output_buffering=65536 is not effective: in /: output_buffering is '0', by .user.ini; "
        "the worker has '65536' outside of the app"
    )


def test_without_a_known_file_it_was_the_directory() -> None:
    assert "by its directory" in judged([], [seen("/", "0")]).detail


def test_what_the_app_sets_later_outdoes_it_too() -> None:
    assert "in /: output_buffering is '1', by the app itself (ini_set)" in judged([], [seen("/", "65536", "1")]).detail


def test_several_targets_with_one_reason_are_named_together() -> None:
    found = judged([], [seen(f"/{number}", "0") for number in range(5)])
    assert found.detail.startswith("in /0, /1, /2 and 2 more: output_buffering is '0'")


def test_where_one_target_has_it_it_is_proved_and_the_others_are_named() -> None:
    found = judged([seen("/a", "0"), seen("/b", "0")], [seen("/a", "65536"), seen("/b", "0", file="/w/.user.ini")])
    assert found.proved
    assert found.detail.endswith("; but not everywhere: in /b: output_buffering is '0', by .user.ini")


def test_the_same_in_the_control_changes_nothing() -> None:
    found = judged([seen("/", "64K")], [seen("/", "65536")])
    assert found.same_as_control
    assert not found.proved


def test_spellings_of_one_value_are_one() -> None:
    assert judged([seen("/", "0")], [seen("/", "64K")]).proved


def test_what_was_not_seen_or_not_proved_is_left_as_it_was() -> None:
    failed = ProofOutcome("ini.output_buffering", "65536", proved=False, detail="no")
    pool = ProofOutcome("pool.pm", "static", proved=True, detail="yes")
    assert judged([], [], PROVED).proved
    assert judged([], [], PROVED).detail.endswith("outside of the app only: its own requests could not be asked")
    assert judged([], [seen("/", "0")], failed) == failed
    assert judged([], [seen("/", "0")], pool) == pool


def test_compression_that_no_request_takes_is_not_seen_at_work() -> None:
    name = "zlib.output_compression"
    outcome = ProofOutcome(f"ini.{name}", "On", proved=True, detail="yes")
    asked = SeenInRequest("/", {name: "1"}, {name: "1"})
    taking = SeenInRequest("/", {name: "1"}, {name: "1"}, takes_gzip=True)
    theirs = SeenInRequest("/", {name: ""}, {name: ""})
    (found,) = judged_in_app([outcome], {name: "1"}, [theirs], [asked])
    assert not_effective((found,)) == f"ini.{name}=On is not effective: not seen at work: no request says Accept-Encoding: gzip"
    (found,) = judged_in_app([outcome], {name: "1"}, [theirs], [taking])
    assert found.proved


def test_a_setting_of_sessions_wants_one() -> None:
    name = "session.gc_probability"
    outcome = ProofOutcome(f"ini.{name}", "1", proved=True, detail="yes")
    asked, theirs = SeenInRequest("/", {name: "1"}, {name: "1"}), SeenInRequest("/", {name: "0"}, {name: "0"})
    (found,) = judged_in_app([outcome], {name: "1"}, [theirs], [asked])
    assert found.detail == "not seen at work: no request opens a session"
    (found,) = judged_in_app([outcome], {name: "1"}, [theirs], [SeenInRequest("/", {name: "1"}, {name: "1"}, session=True)])
    assert found.proved
