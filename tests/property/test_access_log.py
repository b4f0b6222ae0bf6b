import tempfile
from pathlib import Path
from urllib.parse import unquote_plus

from hypothesis import given, settings
from hypothesis import strategies as st

from phpdyno.access_log.masks import masked_query
from phpdyno.access_log.reader import parse_line
from phpdyno.access_log.reading import read_access_log
from phpdyno.access_log.summary import LogSummary, workload_of
from phpdyno.access_log.tally import LogTally
from phpdyno.access_log.targets import Clean, clean_target
from phpdyno.access_log.words import summary_text
from phpdyno.config.workload_toml import WorkloadFile, load_workload, save_workload
from phpdyno.drive.requests import script_for
from phpdyno.model.workload import Target
from tests.support.made_up.access_logs import combined, json_line

patient = settings(deadline=None)  # the machine is shared
TOKENS = st.text(st.sampled_from("abcXYZ019/?&=%._-~;:@#\\\"' \x00\x1b\xffé"), max_size=30)
STATUSES = st.sampled_from([200, 200, 301, 304, 404, 500])
COMBINED = st.builds(
    lambda method, target, status, second: combined(f"{method} /{target} HTTP/1.1", status=status, second=second),
    st.sampled_from(["GET", "GET", "GET", "POST"]),
    TOKENS,
    STATUSES,
    st.integers(0, 10**6),
)
VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.lists(st.integers(), max_size=2))
KEYS = ["request", "request_uri", "uri", "args", "status", "msec", "time_local", "host", "request_time", "upstream_addr"]
JSON = st.builds(lambda fields: json_line(**fields), st.dictionaries(st.sampled_from(KEYS), VALUES)) | st.builds(
    lambda target, host, status: json_line(request_uri="/" + target, host=host, status=status),
    TOKENS,
    st.sampled_from(["a.example", "b.example", "a b"]),
    STATUSES,
)
LINES = st.lists(st.one_of(st.none(), st.binary(max_size=80), COMBINED, JSON), max_size=40)


def added_up(summary: LogSummary) -> bool:
    return summary.kept + sum(each.lines for each in summary.left_out) == summary.lines


@patient
@given(
    st.binary(max_size=300)
    | st.binary(max_size=200).map(lambda tail: b'{"request_method":"GET","request_uri":"' + tail + b'","status":200}')
)
def test_any_bytes_are_a_request_or_none(line: bytes) -> None:
    hit = parse_line(line)
    assert hit is None or (hit.method and hit.target and 100 <= hit.status <= 999)


@patient
@given(LINES, st.integers(1, 5), st.integers(1, 4))
def test_counts_add_up_and_the_text_is_printable(lines: list[bytes | None], most: int, capacity: int) -> None:
    tally = LogTally("a.example", capacity=capacity)
    for line in lines:
        tally.add(line)
    summary = tally.summary("log", most)
    assert summary.lines == len(lines)
    assert added_up(summary)
    assert len(summary.targets) <= most
    assert all(each.isprintable() for each in summary_text(summary).split("\n"))


@patient
@given(st.binary(max_size=2000))
def test_any_file_is_read(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        log.write_bytes(b" " + content)  # a space, so that it is no gzip
        summary = read_access_log(log)
        assert added_up(summary)
        assert summary.lines == (content.count(b"\n") + (not content.endswith(b"\n")))


@patient
@given(st.binary(max_size=60).map(lambda tail: b"/" + tail) | TOKENS.map(lambda tail: b"/" + tail.encode()))
def test_what_is_kept_can_be_asked_and_masking_again_changes_nothing(target: bytes) -> None:
    clean = clean_target(target)
    if isinstance(clean, Clean):
        again = clean_target(clean.path.encode())
        assert isinstance(again, Clean)
        assert again.path == clean.path
        script_for(Target(clean.path), docroot=Path("/nowhere"), front_controller="index.php")


@patient
@given(st.sampled_from(["token", "api_key", "user[password]", "SessionID"]), st.text(min_size=1, max_size=40), TOKENS)
def test_a_named_secret_never_stays(name: str, secret: str, rest: str) -> None:
    value = "".join(f"%{byte:02X}" for byte in secret.encode("utf-8", "replace"))
    assert value not in masked_query(f"{rest}&{name}={value}")[0]
    assert unquote_plus(masked_query(f"{name}={value}")[0]) == f"{name}=masked"


@patient
@given(LINES)
def test_what_is_kept_is_saved_and_read_back(lines: list[bytes | None]) -> None:
    tally = LogTally("a.example")
    for line in [*lines, combined()]:
        tally.add(line)
    summary = tally.summary("log")
    if not summary.targets:
        return
    with tempfile.TemporaryDirectory() as folder:
        file = WorkloadFile(workload_of(summary), summary.arrival)
        save_workload(Path(folder) / "w.toml", file, remarks=[summary_text(summary)])
        assert load_workload(Path(folder) / "w.toml") == file
