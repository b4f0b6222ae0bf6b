from phpdyno.answers.headers import learn_headers

CONTROL = (
    ("Content-Type", "text/html"),
    ("Link", "<a>"),
    ("Link", "<b>"),
    ("Set-Cookie", "session=1; path=/"),
    ("ETag", '"1"'),
    ("X-Powered-By", "PHP/8.2"),
)


def test_names_case_order_and_moving_values_do_not_count() -> None:
    profile = learn_headers([CONTROL])
    other = (
        ("link", "<b>"),
        ("link", "<a>"),
        ("set-cookie", "session=2; path=/; secure"),
        ("content-type", "text/html"),
        ("etag", '"2"'),
        ("content-length", "7"),
        ("transfer-encoding", "chunked"),
        ("connection", "close"),
        ("server", "nginx"),
        ("date", "x"),
    )

    assert profile.differs(other) is None


def test_differences_are_named() -> None:
    profile = learn_headers([CONTROL])

    assert profile.differs(CONTROL[1:]) == "the header content-type is missing"
    assert profile.differs((*CONTROL, ("X-New", "1"))) == "there is a header x-new: '1' that the control does not send"
    assert profile.differs((("Content-Type", "text/plain"), *CONTROL[1:])) == "header content-type: expected 'text/html', got 'text/plain'"
    assert "set-cookie" in str(profile.differs((*CONTROL, ("Set-Cookie", "extra=1"))))


def test_what_moves_in_the_control_counts_by_name_only() -> None:
    profile = learn_headers([[("X-Request-Id", "1"), ("X-Cache", "hit")], [("X-Request-Id", "2")]])

    assert profile.differs([("X-Request-Id", "3")]) is None
    assert profile.differs([("X-Request-Id", "3"), ("X-Cache", "miss")]) is None
    assert profile.differs([]) == "the header x-request-id is missing"
