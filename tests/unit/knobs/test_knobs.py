"""Domains refuse in words; proofs hold only when the running worker shows the setting at work."""

import msgspec
import pytest

from phpdyno.errors import UsageError
from phpdyno.knobs.catalogue import CATALOGUE, knob_for
from phpdyno.knobs.domain import BOOLEAN, JIT, SIZE, integer, size_bytes
from phpdyno.knobs.judge import check_values, metric_for, not_effective, prove, risks_of
from phpdyno.knobs.secrets import HIDDEN, is_secret, masked
from tests.support.made_up.facts import JIT_OFF, JIT_ON, NO_OPCACHE, PLAIN, with_ini, with_jit


@pytest.mark.parametrize(
    ("text", "expected"), [("64M", 64 << 20), ("4096K", 4 << 20), ("1g", 1 << 30), ("123", 123), ("64MB", None), ("", None)]
)
def test_sizes(text: str, expected: int | None) -> None:
    assert size_bytes(text) == expected


def test_spellings_of_one_value_are_the_same() -> None:
    assert BOOLEAN.same("On", "1")
    assert BOOLEAN.same("off", "")
    assert not BOOLEAN.same("on", "off")
    assert SIZE.same("4M", "4096K")
    assert JIT.same("tracing", "1254")
    assert JIT.same("on", "tracing")
    assert JIT.same("0", "off")
    assert not JIT.same("function", "tracing")
    assert integer(1, 9).same("07", "7")


def test_words_to_choose_have_one_spelling_and_all_else_is_as_given() -> None:
    assert CATALOGUE["web.socket"].domain.spelled(" TCP ") == "tcp"
    assert CATALOGUE["pool.pm"].domain.spelled("Dynamic") == "dynamic"
    assert CATALOGUE["web.fastcgi_buffers"].domain.spelled("16 16k") == "16 16k"
    assert CATALOGUE["pool.pm.process_idle_timeout"].domain.spelled("1m") == "1m"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ini.opcache.enable", "maybe"),
        ("ini.opcache.jit", "fast"),
        ("ini.opcache.jit_buffer_size", "64 megabytes"),
        ("pool.pm", "elastic"),
        ("pool.pm.max_children", "0"),
        ("pool.pm.max_children", "many"),
        ("web.socket", "pipe"),
        ("ini.opcache.memory_consumption", "4"),
    ],
)
def test_value_outside_the_domain_names_knob_and_domain(name: str, value: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_values({name: value}, where="--treatment x")
    assert name in str(caught.value)
    assert "it takes" in str(caught.value)


def test_values_inside_are_accepted() -> None:
    check_values({"ini.opcache.jit": "tracing", "pool.pm": "static", "env.ANY": "x", "ini.some.extension_setting": "y"}, where="")


def test_opcache_off_is_proved_by_its_absence() -> None:
    proof = CATALOGUE["ini.opcache.enable"].proof
    assert proof(NO_OPCACHE, "0")[0]
    assert not proof(PLAIN, "0")[0]
    assert proof(PLAIN, "1")[0]
    assert not proof(NO_OPCACHE, "1")[0]


def test_opcache_on_without_a_hit_is_not_proved() -> None:
    cold = msgspec.structs.replace(PLAIN, opcache=msgspec.structs.replace(PLAIN.opcache, hits=0))  # type: ignore[type-var]
    assert not CATALOGUE["ini.opcache.enable"].proof(cold, "1")[0]


def test_jit_is_proved_by_machine_code_not_by_the_ini() -> None:
    proof = CATALOGUE["ini.opcache.jit"].proof
    assert proof(with_jit(PLAIN, JIT_ON), "tracing")[0]
    assert not proof(with_jit(PLAIN, JIT_ON), "function")[0]
    unused = msgspec.structs.replace(JIT_ON, buffer_free_bytes=JIT_ON.free_at_start_bytes)
    assert not proof(with_jit(PLAIN, unused), "tracing")[0]
    without_buffer, detail = proof(with_jit(PLAIN, JIT_OFF, size="0"), "tracing")
    assert not without_buffer
    assert "jit_buffer_size" in detail
    assert proof(PLAIN, "off")[0]
    assert not proof(with_jit(PLAIN, JIT_ON), "off")[0]


def test_jit_buffer_of_the_wrong_size_is_not_proved() -> None:
    proof = CATALOGUE["ini.opcache.jit_buffer_size"].proof
    assert proof(with_jit(PLAIN, JIT_ON), "64M")[0]
    assert not proof(with_jit(PLAIN, JIT_ON), "128M")[0]
    assert proof(PLAIN, "0")[0]


def test_timestamps_do_nothing_without_opcache() -> None:
    proof = CATALOGUE["ini.opcache.validate_timestamps"].proof
    assert proof(with_ini(PLAIN, opcache__validate_timestamps="0"), "0")[0]
    assert not proof(PLAIN, "0")[0]
    assert not proof(with_ini(NO_OPCACHE, opcache__validate_timestamps="0"), "0")[0]


def test_realpath_cache_that_open_basedir_switched_off_is_not_proved() -> None:
    proof = CATALOGUE["ini.realpath_cache_size"].proof
    bigger = with_ini(PLAIN, realpath_cache_size="16M")
    assert proof(bigger, "16M")[0]
    assert not proof(msgspec.structs.replace(bigger, realpath_cache_bytes=0), "16M")[0]


def test_an_uncatalogued_setting_is_proved_by_its_value_in_force() -> None:
    assert knob_for("ini.memory_limit").proof(PLAIN, "131072K")[0]
    assert not knob_for("ini.precision").proof(PLAIN, "14")[0]
    assert knob_for("env.MODE").proof(msgspec.structs.replace(PLAIN, env={"MODE": "fast"}), "fast")[0]
    assert not knob_for("env.MODE").proof(PLAIN, "fast")[0]
    assert knob_for("php").proof(PLAIN, "/usr/sbin/php-fpm8.2")[0]
    assert not knob_for("php").proof(PLAIN, "/opt/php/php-fpm")[0]


def test_a_setting_that_the_control_has_too_is_not_effective() -> None:
    outcomes = prove({"ini.opcache.validate_timestamps": "on"}, PLAIN, PLAIN, {})
    assert outcomes[0].same_as_control
    assert "the control has the same value" in not_effective(outcomes)


@pytest.mark.parametrize(
    ("name", "wanted", "theirs", "treated"),
    [
        ("ini.expose_php", "on", "1", "1"),
        ("ini.expose_php", "1", "On", "1"),
        ("ini.display_errors", "Off", "", ""),
        ("ini.display_errors", "no", "0", ""),
        ("ini.post_max_size", "8388608", "8M", "8388608"),
        ("ini.post_max_size", "8m", "8192K", "8m"),
        ("pool.php_admin_value[post_max_size]", "8192K", "8M", "8192K"),
        ("pool.php_admin_flag[expose_php]", "on", "1", "1"),
    ],
)
def test_another_spelling_of_the_control_s_value_changes_nothing(name: str, wanted: str, theirs: str, treated: str) -> None:
    own = name.removeprefix("ini.").rpartition("[")[2].removesuffix("]")
    (outcome,) = prove({name: wanted}, with_ini(PLAIN, **{own: theirs}), with_ini(PLAIN, **{own: treated}), {})
    assert outcome.same_as_control, outcome
    assert "the control has the same value" in not_effective((outcome,))


def test_texts_that_only_look_alike_differ() -> None:
    on, one = (msgspec.structs.replace(PLAIN, env={"MODE": value}, app={"mode": value}) for value in ("on", "1"))
    assert prove({"env.MODE": "on"}, one, on, {})[0].proved
    assert prove({"app.mode": "on"}, one, on, {})[0].proved
    assert prove({"ini.user_agent": "a"}, with_ini(PLAIN, user_agent="b"), with_ini(PLAIN, user_agent="a"), {})[0].proved
    assert prove({"ini.post_max_size": "8M"}, with_ini(PLAIN, post_max_size="8K"), with_ini(PLAIN, post_max_size="8M"), {})[0].proved
    assert prove({"ini.expose_php": "off"}, with_ini(PLAIN, expose_php="1"), with_ini(PLAIN, expose_php=""), {})[0].proved


def test_an_extension_of_the_control_s_ini_files_is_no_change() -> None:
    loaded = msgspec.structs.replace(PLAIN, extensions=("redis",))
    for name in ("ini.extension", "pool.php_admin_value[extension]"):
        assert prove({name: "redis.so"}, loaded, loaded, {})[0].same_as_control
        assert prove({name: "redis.so"}, PLAIN, loaded, {})[0].proved
    assert prove({"ini.zend_extension": "opcache"}, PLAIN, PLAIN, {})[0].same_as_control


def test_one_setting_that_differs_makes_the_treatment_worth_measuring() -> None:
    treated = with_ini(PLAIN, realpath_cache_ttl="600")
    outcomes = prove({"ini.realpath_cache_ttl": "600", "ini.opcache.validate_timestamps": "1"}, PLAIN, treated, {})
    assert not_effective(outcomes) == ""


def test_one_setting_that_is_not_at_work_spoils_the_treatment() -> None:
    treated = with_ini(PLAIN, realpath_cache_ttl="600")
    outcomes = prove({"ini.realpath_cache_ttl": "600", "ini.opcache.jit": "tracing"}, PLAIN, treated, {})
    assert "ini.opcache.jit=tracing is not effective" in not_effective(outcomes)


def test_an_aa_arm_has_nothing_to_prove() -> None:
    assert not_effective(prove({}, PLAIN, PLAIN, {})) == ""


def test_pool_and_web_settings_are_compared_with_what_the_control_has_by_default() -> None:
    assert prove({"web.workers": "1"}, PLAIN, PLAIN, {})[0].same_as_control
    assert prove({"web.workers": "2"}, PLAIN, PLAIN, {"web.workers": "2"})[0].same_as_control
    assert prove({"web.workers": "2"}, PLAIN, PLAIN, {})[0].proved


def test_a_preloaded_library_must_be_mapped_and_huge_pages_in_use() -> None:
    asked = msgspec.structs.replace(PLAIN, env={"LD_PRELOAD": "/lib/a.so", "USE_ZEND_ALLOC_HUGE_PAGES": "1"})
    assert not knob_for("env.LD_PRELOAD").proof(asked, "/lib/a.so")[0]
    assert knob_for("env.LD_PRELOAD").proof(msgspec.structs.replace(asked, preloaded=("/lib/a.so",)), "/lib/a.so")[0]
    assert not knob_for("env.USE_ZEND_ALLOC_HUGE_PAGES").proof(asked, "1")[0]
    assert knob_for("env.USE_ZEND_ALLOC_HUGE_PAGES").proof(msgspec.structs.replace(asked, anon_huge_kib=2048), "1")[0]


def test_boolean_words_and_extensions_are_understood() -> None:
    assert knob_for("ini.expose_php").proof(with_ini(PLAIN, expose_php=""), "Off")[0]
    assert not knob_for("ini.expose_php").proof(with_ini(PLAIN, expose_php="1"), "Off")[0]
    assert knob_for("ini.zend_extension").proof(PLAIN, "opcache")[0]
    assert not knob_for("ini.extension").proof(PLAIN, "redis.so")[0]


def test_a_jit_that_compiled_nothing_is_not_proved() -> None:
    started = msgspec.structs.replace(JIT_ON, buffer_free_bytes=JIT_ON.free_at_start_bytes)
    assert not CATALOGUE["ini.opcache.jit"].proof(with_jit(PLAIN, started), "tracing")[0]


def test_risks_are_named_for_what_has_them() -> None:
    assert risks_of({"ini.memory_limit": "1G"}) == ()
    assert "reload" in risks_of({"ini.opcache.validate_timestamps": "0"})[0]


def test_what_changes_waiting_is_judged_by_throughput_and_all_else_by_cpu() -> None:
    assert metric_for({"ini.opcache.jit": "tracing", "env.MODE": "x", "php": "/x"}) == "cpu"
    assert metric_for({}) == "cpu"
    for name in CATALOGUE:
        assert metric_for([name]) == ("throughput" if name.startswith(("pool.", "web.", "os.net.")) else "cpu"), name
    assert metric_for({"ini.opcache.jit": "tracing", "web.socket": "tcp"}) == "throughput"


def test_an_extension_is_proved_by_its_name_and_its_file() -> None:
    loaded = msgspec.structs.replace(PLAIN, extensions=("Core", "calendar", "Zend OPcache"), mapped_extensions=("/lib/php/calendar.so",))
    proof = knob_for("ext.calendar").proof
    assert proof(loaded, "/lib/php/calendar.so")[0]
    elsewhere = proof(loaded, "/tmp/calendar.so")
    assert not elsewhere[0]
    assert "loaded from /lib/php/calendar.so" in elsewhere[1]
    assert not proof(PLAIN, "/lib/php/calendar.so")[0]
    assert proof(PLAIN, "off")[0]
    assert not proof(loaded, "off")[0]
    assert not knob_for("ext.opcache").proof(loaded, "off")[0]


def test_an_extension_that_the_control_loads_from_the_same_file_is_not_effective() -> None:
    loaded = msgspec.structs.replace(PLAIN, extensions=("calendar",), mapped_extensions=("/lib/php/calendar.so",))
    assert prove({"ext.calendar": "/lib/php/calendar.so"}, loaded, loaded, {})[0].same_as_control
    assert prove({"ext.calendar": "/lib/php/calendar.so"}, PLAIN, loaded, {})[0].proved
    assert prove({"ext.calendar": "off"}, PLAIN, PLAIN, {})[0].same_as_control
    assert prove({"ext.calendar": "off"}, loaded, PLAIN, {})[0].proved


def test_a_commit_is_proved_by_files_that_the_worker_opened() -> None:
    commit = "c0ffee" * 6 + "abcd"
    serving = msgspec.structs.replace(PLAIN, source=commit, served_files=3)
    assert knob_for("source").proof(serving, commit)[0]
    assert not knob_for("source").proof(msgspec.structs.replace(serving, served_files=0), commit)[0]
    ok, detail = knob_for("source").proof(msgspec.structs.replace(serving, preloaded_elsewhere="/srv/preload.php"), commit)
    assert (ok, detail) == (False, "the worker preloaded /srv/preload.php, which is not of this commit")
    assert not knob_for("source").proof(PLAIN, commit)[0]
    assert prove({"source": commit}, PLAIN, serving, {})[0].proved
    assert prove({"source": commit}, serving, serving, {})[0].same_as_control


def test_a_setting_of_the_app_is_proved_by_the_environment() -> None:
    on, off = (msgspec.structs.replace(PLAIN, app={"debug": value}) for value in ("1", "0"))
    assert prove({"app.debug": "1"}, off, on, {})[0].proved
    assert prove({"app.debug": "1"}, on, on, {})[0].same_as_control
    assert not prove({"app.debug": "1"}, off, PLAIN, {})[0].proved


def test_ini_files_are_proved_by_what_the_worker_read() -> None:
    facts = msgspec.structs.replace(PLAIN, ini_files=("/etc/php/php.ini", "/etc/php/conf.d/10-a.ini", "/x/20-b.ini"))
    assert knob_for("php.ini").proof(facts, "/etc/php/php.ini")[0]
    assert knob_for("php.ini").proof(facts, "/etc/php")[0]
    assert not knob_for("php.ini").proof(facts, "none")[0]
    assert knob_for("php.ini").proof(msgspec.structs.replace(facts, ini_files=("", "/x/20-b.ini")), "none")[0]
    assert knob_for("php.scan_dir").proof(facts, ":/x")[0]
    assert not knob_for("php.scan_dir").proof(facts, "/y")[0]


def test_settings_of_a_directory_are_proved_by_the_copies_that_the_worker_read() -> None:
    ours = ("/etc/php/php.ini", "/live/i1/ini/carried-000-99-own.ini", "/live/i1/ini/phpdyno.ini")
    facts = msgspec.structs.replace(PLAIN, ini_files=ours)
    assert knob_for("php.settings_dir").proof(facts, "/etc/php/conf.d")[0]
    assert not knob_for("php.settings_dir").proof(msgspec.structs.replace(facts, ini_files=ours[::2]), "/etc/php/conf.d")[0]
    # What it reads besides is in our own directory.
    assert knob_for("php.scan_dir").proof(facts, "none")[0]


def test_a_pool_s_own_ini_setting_has_the_domain_and_the_proof_of_that_setting() -> None:
    with pytest.raises(UsageError, match="it takes a size"):
        check_values({"pool.php_admin_value[memory_limit]": "much"}, where="x")
    treated = with_ini(PLAIN, memory_limit="256M")
    assert prove({"pool.php_admin_value[memory_limit]": "256M"}, PLAIN, treated, {})[0].proved
    assert prove({"pool.php_admin_value[memory_limit]": "128M"}, PLAIN, PLAIN, {})[0].same_as_control
    assert metric_for(["pool.php_value[memory_limit]"]) == "cpu"


def test_what_may_be_a_password_is_recognised_by_name_or_address() -> None:
    secret = ["mysqli.default_pw", "newrelic.license", "my.api_key", "redis.auth", "pdo.dsn.shop", "x.passwd", "opentelemetry.token"]
    secret += ["suhosin.cookie.cryptkey", "app.key", "key", "x.signing_key"]
    assert all(is_secret(name, "x") for name in secret)
    plain = ["memory_limit", "session.save_path", "openssl.cafile", "session.sid_length", "mysqlnd.sha256_server_public_key"]
    assert not any(is_secret(name, "/var/x") for name in plain)
    assert is_secret("session.save_path", "tcp://host:6379?auth=x")
    assert is_secret("session.save_path", "redis://user:x@host/1")
    assert is_secret("session.save_path", "tcp://user:a/b@host:1")
    assert is_secret("session.save_path", "tcp://host:6379?auth%5Bpass%5D=x")
    assert is_secret("x.dsn", "mysql:host=h;password=x")
    assert is_secret("x.connection", "host=h pwd=x")
    assert is_secret("sendmail_path", "/usr/bin/msmtp --user=u -p x")
    assert not is_secret("sendmail_path", "/bin/true")
    assert not is_secret("session.save_path", "tcp://host:6379")
    assert not is_secret("mysqli.default_pw", "")


def test_secrets_are_replaced_by_what_the_arm_says_instead() -> None:
    told = {"mysqli.default_pw": "s", "memory_limit": "1G", "x.token": "t"}
    marked = masked(told, {"mysqli.default_pw": "live:www"}, {"mysqli.default_pw": "s"}, guess=True)
    assert marked == {"mysqli.default_pw": "live:www", "memory_limit": "1G", "x.token": HIDDEN}
    other = masked(told, {"mysqli.default_pw": "live:www"}, {"mysqli.default_pw": "another"}, guess=True)
    assert other["mysqli.default_pw"] == HIDDEN
    assert masked(told, {"x.token": "t"}, {}, guess=True)["x.token"] == "t"
    assert masked({"TOKEN": "t"}, {}, {}, guess=False) == {"TOKEN": "t"}


def test_who_has_php_is_seen_in_the_workers_program() -> None:
    seen = CATALOGUE["web.server"].proof
    apache = msgspec.structs.replace(PLAIN, exe="/usr/sbin/apache2")
    assert seen(apache, "apache-mod_php")[0]
    assert seen(PLAIN, "nginx")[0]
    assert not seen(PLAIN, "apache-mod_php")[0]
    assert not seen(apache, "nginx")[0]
