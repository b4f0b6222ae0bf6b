"""Every knob that phpdyno knows by name, a module per kind; other settings of a layer are proved by
the value in force."""

import re

from msgspec import structs

from phpdyno.knobs import proof
from phpdyno.knobs.by_time import BY_TIME
from phpdyno.knobs.catalogue.environment import ENVIRONMENT
from phpdyno.knobs.catalogue.host import HOST
from phpdyno.knobs.catalogue.jit import JIT_KNOBS
from phpdyno.knobs.catalogue.opcache import OPCACHE
from phpdyno.knobs.catalogue.pool import POOL
from phpdyno.knobs.catalogue.runtime import RUNTIME
from phpdyno.knobs.catalogue.web import WEB
from phpdyno.knobs.domain import BOOLEAN, TEXT
from phpdyno.knobs.hardened import SETTING
from phpdyno.knobs.knob import Knob

_POOL_INI = re.compile(r"pool\.php_(?:admin_)?(?:value|flag)\[(.+)\]")
_FLAG = re.compile(r"pool\.php_(?:admin_)?flag\[")

CATALOGUE: dict[str, Knob] = {
    knob.name: structs.replace(knob, by_time=BY_TIME.get(knob.name, ""))
    for knob in (*OPCACHE, *JIT_KNOBS, *RUNTIME, *ENVIRONMENT, *POOL, *WEB, *HOST)
}


def knob_for(name: str) -> Knob:
    """The knob of a full name; one that the catalogue does not list is any other setting of its
    layer."""
    if name in CATALOGUE:
        return CATALOGUE[name]
    layer, _, rest = name.partition(".")
    own = pool_ini(name)
    if own:
        knob = structs.replace(knob_for(f"ini.{own}"), name=name, apply="reload")
        return structs.replace(knob, domain=BOOLEAN) if _FLAG.match(name) else knob
    proofs = {"env": proof.environment, "app": proof.app_setting, "ext": proof.extension_file}
    whole = {
        "php": proof.executable,
        "php.extension_dir": proof.in_force("extension_dir"),
        "php.ini": proof.ini_file,
        "php.scan_dir": proof.scan_dir,
        "php.settings_dir": proof.settings_dir,
        "source": proof.commit,
    }
    whole[f"ini.{SETTING}"] = proof.disabled
    seen = whole.get(name) or (proofs[layer](rest) if layer in proofs else proof.in_force(rest))
    return Knob(name, TEXT, "restart", seen, by_time=BY_TIME.get(name, ""))


def pool_ini(name: str) -> str:
    """The php.ini name in `pool.php_admin_value[NAME]` and its kin; '' for any other setting."""
    match = _POOL_INI.fullmatch(name)
    return match[1] if match else ""


def _names(layer: str) -> frozenset[str]:
    return frozenset(name.removeprefix(f"{layer}.") for name in CATALOGUE if name.startswith(f"{layer}."))


POOL_NAMES = _names("pool")
WEB_NAMES = _names("web")
OS_NAMES = _names("os")
