"""Configuration without comments and secrets."""

from phpdyno.bundle.write.basis import difference, settings_of

FILE = """; a comment
[www]
pm   =  dynamic
# another one
env[DB_PASSWORD] = hunter2
php_admin_value[mysqli.default_pw] = "hunter3"
php_value[redis.session] = "tcp://h?auth=hunter4"
php_admin_value[memory_limit] = 128M
php_value[text] = "first line
second hunter5"
"""


def test_comments_and_secrets_are_left_out() -> None:
    told = settings_of(FILE)
    assert "hunter" not in told
    assert "comment" not in told
    assert told.splitlines()[:2] == ["[www]", "pm = dynamic"]
    assert "php_admin_value[memory_limit] = 128M" in told


def test_a_comment_or_another_password_is_no_difference() -> None:
    other = FILE.replace("hunter2", "hunter9").replace("; a comment\n", "")
    assert difference(settings_of(FILE), settings_of(other), "/etc/www.conf") == ""


def test_another_value_is() -> None:
    shown = difference(settings_of(FILE), settings_of(FILE.replace("128M", "64M")), "/etc/www.conf")
    assert "-php_admin_value[memory_limit] = 128M" in shown
    assert "+php_admin_value[memory_limit] = 64M" in shown
    assert "/etc/www.conf (then)" in shown


def test_a_long_difference_is_cut() -> None:
    before = "".join(f"a{number} = 1\n" for number in range(200))
    shown = difference(before, before.replace("= 1", "= 2"), "x")
    assert len(shown.splitlines()) == 61
    assert shown.splitlines()[-1].startswith("… and ")
