"""A format out of a server's configuration, by its name or by the file that it writes."""

from pathlib import Path

import pytest

from phpdyno.access_log.log_format.configuration import format_of_configuration
from phpdyno.errors import UsageError

NGINX = """
user www-data;
events { worker_connections 768; }
http {
    include %(root)s/formats/*.conf;
    log_format one '$request' ' $status';
    server {
        access_log /var/log/nginx/shop.log main buffer=32k;
        access_log off;
        location / { access_log /var/log/nginx/api.log; }
    }
}
"""
MAIN = """log_format main escape=json '$host "$request" ' '$status it\\'s';"""
APACHE = r"""
LogFormat "%v:%p %h %l %u %t \"%r\" %>s %O" vhosts
 LogFormat "%h \"%r\" \
%>s" short
CustomLog ${APACHE_LOG_DIR}/access.log combined
"""


@pytest.fixture
def nginx(tmp_path: Path) -> Path:
    (tmp_path / "formats").mkdir()
    (tmp_path / "formats" / "main.conf").write_text(MAIN)
    path = tmp_path / "nginx.conf"
    path.write_text(NGINX % {"root": tmp_path})
    return path


@pytest.mark.parametrize(
    ("name", "log", "text"),
    [
        (":main", "/x", '$host "$request" $status it\'s'),
        (":one", "/x", "$request $status"),
        (":combined", "/x", '$remote_addr - $remote_user [$time_local] "$request" $status'),
        ("", "/var/log/nginx/shop.log", '$host "$request"'),
        ("", "/var/log/nginx/shop.log.2.gz", '$host "$request"'),
        ("", "/home/me/shop.log-20261120", '$host "$request"'),
        ("", "/var/log/nginx/api.log.1", "$remote_addr - "),
    ],
)
def test_by_its_name_or_by_its_log(nginx: Path, name: str, log: str, text: str) -> None:
    assert format_of_configuration(f"{nginx}{name}", log=Path(log), where="").startswith(text)


def test_of_apache(tmp_path: Path) -> None:
    path = tmp_path / "apache2.conf"
    path.write_text(APACHE)
    assert format_of_configuration(f"{path}:vhosts", log=Path("/x"), where="") == r'LogFormat "%v:%p %h %l %u %t \"%r\" %>s %O" vhosts'
    assert format_of_configuration(f"{path}:short", log=Path("/x"), where="").startswith(r'LogFormat "%h \"%r\" %>s"')
    assert format_of_configuration(f"{path}:common", log=Path("/x"), where="").startswith("%h %l %u")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (":mian", "no format there is called 'mian'; did you mean main?"),
        (":zzz", "it has combined, main, one"),
        ("", "add :NAME, one of main, one"),
    ],
)
def test_a_name_that_is_not_there(nginx: Path, name: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        format_of_configuration(f"{nginx}{name}", log=Path("/x.log"), where="--log-format")
    assert said in str(caught.value)


def test_a_configuration_without_a_format_of_its_own_writes_combined(tmp_path: Path) -> None:
    path = tmp_path / "nginx.conf"
    path.write_text("events { } http { access_log /var/log/nginx/access.log; }")
    assert format_of_configuration(str(path), log=Path("/x.log"), where="").startswith("$remote_addr - $remote_user [$time_local]")


def test_a_configuration_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    path = tmp_path / "nginx.conf"
    path.write_text("http { log_format main '$request")
    with pytest.raises(UsageError, match="it cannot be read whole"):
        format_of_configuration(f"{path}:main", log=Path("/x"), where="--log-format")
