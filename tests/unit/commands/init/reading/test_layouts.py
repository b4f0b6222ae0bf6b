from pathlib import Path

import pytest

from phpdyno.commands.init.reading.layouts import find_layout
from phpdyno.errors import UsageError
from tests.unit.commands.init.trees import LARAVEL, TREES, WORDPRESS, plant


@pytest.mark.parametrize("name", TREES)
def test_each_framework_is_known_by_its_files(tmp_path: Path, name: str) -> None:
    files, framework, docroot = TREES[name]
    found = find_layout(plant(tmp_path / name, files))
    assert (found.framework, found.root, found.docroot) == (framework, tmp_path / name, (tmp_path / name / docroot))


@pytest.mark.parametrize("name", ["laravel", "symfony", "drupal", "yii-advanced", "codeigniter"])
def test_a_document_root_leads_to_its_project(tmp_path: Path, name: str) -> None:
    files, framework, docroot = TREES[name]
    found = find_layout(plant(tmp_path / name, files) / docroot)
    assert (found.framework, found.root, found.docroot) == (framework, tmp_path / name, tmp_path / name / docroot)


def test_a_blog_inside_a_laravel_is_a_part_of_it(tmp_path: Path) -> None:
    plant(tmp_path / "shop/public/blog", WORDPRESS)
    assert find_layout(plant(tmp_path / "shop", LARAVEL)).framework == "Laravel"


def test_a_wordpress_in_a_directory_of_its_project(tmp_path: Path) -> None:
    plant(tmp_path / "site/htdocs", WORDPRESS)
    found = find_layout(tmp_path / "site")
    assert (found.framework, found.docroot) == ("WordPress", tmp_path / "site/htdocs")


def test_a_plain_app_has_its_usual_document_root(tmp_path: Path) -> None:
    plant(tmp_path / "app", {"public/index.php": "<?php", "src/a.php": "<?php", "composer.json": "{}"})
    assert find_layout(tmp_path / "app").docroot == tmp_path / "app/public"


@pytest.mark.parametrize("name", ["nothing", "none"])
def test_where_no_app_lies_is_said(tmp_path: Path, name: str) -> None:
    (tmp_path / "nothing").mkdir()
    with pytest.raises(UsageError):
        find_layout(tmp_path / name)
