import gzip
from pathlib import Path

from phpdyno.commands.init.reading.pages import pages_of

MAP = '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'


def listed(*urls: str) -> str:
    return MAP.format("".join(f"<url><loc> {url} </loc><i:loc xmlns:i='x'>https://no.example/i.png</i:loc></url>" for url in urls))


def test_a_sitemap_gives_the_front_page_and_pages_of_each_section(tmp_path: Path) -> None:
    urls = [f"https://shop.example/{section}/{number}" for section in ("blog", "item", "help") for number in range(100)]
    (tmp_path / "sitemap.xml").write_text(listed("https://shop.example/", *urls))
    targets, name, host = pages_of(tmp_path)
    assert (name, host, len(targets)) == ("sitemap.xml", "shop.example", 10)
    assert targets[0].path == "/"
    assert [sum(target.path.startswith(f"/{each}/") for target in targets) for each in ("blog", "item", "help")] == [3, 3, 3]


def test_robots_txt_names_an_index_of_compressed_sitemaps(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text("User-agent: *\nSitemap: https://shop.example/maps/all.xml\n")
    (tmp_path / "maps").mkdir()
    index = "<sitemapindex><sitemap><loc>https://shop.example/maps/1.xml.gz</loc></sitemap></sitemapindex>"
    (tmp_path / "maps/all.xml").write_text(index)
    (tmp_path / "maps/1.xml.gz").write_bytes(gzip.compress(listed("https://shop.example/a?b=1&amp;c=2").encode()))
    assert [target.path for target in pages_of(tmp_path)[0]] == ["/", "/a?b=1&c=2"]


def test_what_is_no_sitemap_names_nothing(tmp_path: Path) -> None:
    assert pages_of(tmp_path) == ((), "", "")
    (tmp_path / "sitemap.xml").write_text("<html>not found")
    assert pages_of(tmp_path) == ((), "", "")


def test_entities_and_places_outside_are_not_followed(tmp_path: Path) -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE urlset [<!ENTITY a "aaaa">]><urlset><url><loc>https://x.example/&a;</loc></url></urlset>'
    (tmp_path / "www").mkdir()
    (tmp_path / "www/sitemap.xml").write_text(bomb)
    (tmp_path / "other.xml").write_text(listed("https://x.example/secret"))
    (tmp_path / "www/robots.txt").write_text("Sitemap: https://x.example/../other.xml")
    assert pages_of(tmp_path / "www")[0] == ()


def test_a_path_that_cannot_be_asked_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "sitemap.txt").write_text("https://x.example/gr\u00fcn\nhttps://x.example/ok\nhttp://[bad\n")
    assert [target.path for target in pages_of(tmp_path)[0]] == ["/", "/ok"]
