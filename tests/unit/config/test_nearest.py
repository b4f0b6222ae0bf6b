from phpdyno.config.nearest import nearest, suggestion


def test_finds_a_mistyped_name() -> None:
    assert nearest("opcache.jti", ["opcache.jit", "memory_limit"]) == "opcache.jit"


def test_case_does_not_count() -> None:
    assert nearest("MEMORY_LIMIT", ["memory_limit"]) == "memory_limit"


def test_nothing_near_is_empty() -> None:
    assert nearest("xyzzy", ["memory_limit"]) == ""
    assert nearest("", ["memory_limit"]) == ""
    assert nearest("x", []) == ""


def test_suggestion_lists_few_names_and_not_many() -> None:
    assert suggestion("sokcet", ["socket"], prefix="web.") == "did you mean web.socket?"
    assert suggestion("xyzzy", ["socket", "workers"]) == "known: socket, workers"
    assert suggestion("xyzzy", [f"name{k}" for k in range(100)]) == ""
