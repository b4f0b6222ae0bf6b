import pytest

from phpdyno.access_log.masks import masked_query, secret_name, secret_path


@pytest.mark.parametrize(
    "query",
    [
        "token=abc", "api_key=1", "userToken=2", "auth%5Btoken%5D=3", "auth[sid]=3", "%74oken=zz", "%2574oken=zz", "PHPSESSID=a", "sid=1",
        "X-Amz-Signature=q", "_wpnonce=77", "password=hunter2", "email=me", "e-mail=me",
        "code=4%2F0A", "client_secret=x", "key=abc",
        "redirect=https%3A%2F%2Fx%2F%3Ftoken%3Dabc", "next=%252Fa%253Fpassword%253Dx", "to=https%3A%2F%2Fbob%3Apw%40example.org%2F",
        "id=3f2a9c1d4e5b6a7f8c9d0e1f2a3b4c5d", "id=123e4567-e89b-12d3-a456-426614174000", "q=someone@example.org",
        "q=some+one%40example.org",
        "t=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc",
        "x=kJ8s7Hd2Lq9ZxT4vBn6M", "x=q5o8k2l1n4r7t0v3x6z9a2c5e8",
    ],
)  # fmt: skip
def test_a_secret_is_masked_and_its_name_stays(query: str) -> None:
    name = query.partition("=")[0]
    assert masked_query(f"a=1&{query}&b=2") == (f"a=1&{name}=masked&b=2", True)


@pytest.mark.parametrize("query", ["3f2a9c1d4e5b6a7f8c9d0e1f2a3b4c5d", "someone%40example.org"])
def test_a_bare_secret_is_masked(query: str) -> None:
    assert masked_query(query) == ("masked", True)


def test_a_secret_as_a_name_is_masked_too() -> None:
    assert masked_query("3f2a9c1d4e5b6a7f8c9d0e1f2a3b4c5d=1") == ("masked=masked", True)


@pytest.mark.parametrize(
    "query",
    [
        "", "s=shoes", "keyword=a", "monkey=1", "design=2", "author=me", "p=My-Long-Product-Name-2024-edition", "token=", "token",
        "x=TheQuickBrownFoxJumpsOverTheLazyDog", "utm_campaign=black-friday-2026-newsletter-2", "page=2&sort=price&filter[color]=red",
        "lat=52.5200066&lng=13.404954", "date=2024-11-21T10:00:00%2B01:00", "time=1732183200000", "ids=1,2,3,4,5,6,7,8,9,10,11,12",
        "v=5f3e9a7", "w=%zz%", "q=a@b", "&&=&=", "url=https%3A%2F%2Fexample.org%2Fa%3Fpage%3D2",
    ],
)  # fmt: skip
def test_what_is_no_secret_stays_to_the_letter(query: str) -> None:
    assert masked_query(query) == (query, False)


@pytest.mark.parametrize(
    ("path", "secret"),
    [
        ("/reset/3f2a9c1d4e5b6a7f8c9d0e1f2a3b4c5d", True),
        ("/x;jsessionid=abc", True),
        ("/orders/123e4567-e89b-12d3-a456-426614174000", True),
        ("/unsubscribe/me%40example.org", True),
        ("/blog/2024/11/21/a-long-title-with-10-words-and-numbers-5", False),
        ("/wp-content/uploads/2024/02/IMG_20240211_113355-scaled.php", False),
        ("/watch/dQw4w9WgXcQ", False),
        ("/token", False),
    ],
)
def test_paths(path: str, secret: bool) -> None:
    assert secret_path(path) is secret


def test_names() -> None:
    assert secret_name("sessionId")
    assert not secret_name("sessions_per_page_shown_as_lists")
