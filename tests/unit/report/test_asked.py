"""What was asked, in words: names of what was sent, and never a value."""

from phpdyno.model.arm import APACHE, Arm, PhpBuild
from phpdyno.model.workload import Target, Workload
from phpdyno.report.scope import BOTH, asked_words, scope_of, target_rows, transport_words

LOGGED_IN = Target("/account", 1.0, cookies={"session": "s3cret"}, name="account, logged in")
LOGIN = Target("/login", 2.0, 303, method="POST", writes=True, body="password=s3cret", headers={"X-Token": "s3cret", "Accept": "text/html"})


def test_plain_targets_are_said_as_ever() -> None:
    assert asked_words(Workload((Target("/", 3.0), Target("/feed/")), "shop.test")) == "GET / (75 %), /feed/ (25 %) as shop.test"


def test_what_is_sent_is_named_and_not_told() -> None:
    words = asked_words(Workload((Target("/"), LOGGED_IN, LOGIN), "shop.test"))
    assert words == (
        "/ (25 %), account, logged in (25 %), POST /login (50 %) as shop.test, sending cookie session, X-Token, Accept, a body"
    )
    assert [row.path for row in target_rows(Workload((Target("/"), LOGGED_IN, LOGIN)))] == ["/", "account, logged in", "POST /login"]


def test_a_get_with_a_name_or_a_cookie_is_still_a_get() -> None:
    assert asked_words(Workload((LOGGED_IN,), "h")) == "GET account, logged in as h, sending cookie session"


def test_many_names_are_cut() -> None:
    many = Target("/", headers={f"X-{number}": "1" for number in range(12)})
    assert asked_words(Workload((many,), "h")).endswith("X-6, X-7 and 4 more")


def test_the_way_to_php_is_that_of_the_arms_servers() -> None:
    php = PhpBuild("/usr/sbin/php-fpm8.2", "8.2.36")
    nginx, apache = Arm("one", php), Arm("two", php, {"web.server": APACHE})
    assert transport_words("http", [nginx], keep_conn=False) == "HTTP keep-alive through nginx"
    assert transport_words("http", [apache, apache], keep_conn=False) == "HTTP keep-alive to Apache"
    assert transport_words("http", [nginx, apache], keep_conn=False) == BOTH
    assert transport_words("fastcgi", [nginx], keep_conn=True) == "FastCGI straight to php-fpm on kept connections"


def test_many_builds_are_told_apart_by_their_ids_and_a_few_by_their_places_too() -> None:
    stock, pgo, old = PhpBuild("/usr/sbin/php-fpm8.2", "8.2.36", build_id="aa" * 20), PhpBuild("/cache/1/php-fpm", "8.2.32"), "8.2.32"
    arms = [Arm("control", stock), Arm("pgo", pgo)]
    few = scope_of("shop 1", Workload((Target("/"),)), arms, None, 1)
    assert "these builds (PHP 8.2.36 (/usr/sbin/php-fpm8.2, build id aaaaaaaaaaaa), PHP 8.2.32 (/cache/1/php-fpm))" in few
    arms += [
        Arm("lto", PhpBuild("/cache/2/php-fpm", old, build_id="bb" * 20)),
        Arm("o3", PhpBuild("/cache/3/php-fpm", old, build_id="cc" * 20)),
    ]
    many = scope_of("shop 1", Workload((Target("/"),)), arms, None, 1)
    assert "(PHP 8.2.36, build id aaaaaaaaaaaa, PHP 8.2.32, build ids /cache/1/php-fpm, bbbbbbbbbbbb, cccccccccccc)" in many
