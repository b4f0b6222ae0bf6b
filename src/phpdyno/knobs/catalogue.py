"""Every knob that phpdyno knows by name. Other php.ini settings are allowed too: their proof is the value in force."""

import re
from typing import Literal

from msgspec import Struct, structs

from phpdyno.knobs import proof
from phpdyno.knobs.domain import BOOLEAN, DURATION, JIT, SIZE, TEXT, Domain, choice, integer
from phpdyno.knobs.proof import Proof
from phpdyno.model.arm import APACHE
from phpdyno.model.plan import Metric


class Knob(Struct, frozen=True):
    """One tunable: full name, what it takes, what applying it costs, how its effect is proved, and what can go wrong.

    `default` is what an arm has that does not name it, where no worker can tell (pool and web server). `metric` is what judges it:
    what changes PHP's work by CPU per request, what changes waiting or concurrency by throughput.
    """

    name: str
    domain: Domain
    apply: Literal["reload", "restart"]
    proof: Proof
    risk: str = ""
    default: str | None = None
    metric: Metric = "cpu"


def _opcache(name: str, domain: Domain, risk: str = "") -> Knob:
    return Knob(f"ini.{name}", domain, "restart", proof.with_opcache(name, domain), risk)


def _ini(name: str, domain: Domain, risk: str = "") -> Knob:
    return Knob(f"ini.{name}", domain, "reload", proof.in_force(name, domain), risk)


def _waiting(
    name: str, domain: Domain, apply: Literal["reload", "restart"], seen: Proof = proof.accepted, default: str | None = None
) -> Knob:
    return Knob(name, domain, apply, seen, default=default, metric="throughput")


def _realpath(name: str, domain: Domain, risk: str) -> Knob:
    return Knob(f"ini.{name}", domain, "reload", proof.realpath_cache(name, domain), risk)


_POOL_INI = re.compile(r"pool\.php_(?:admin_)?(?:value|flag)\[(.+)\]")
STALE_CODE = "a deployment needs a reload of php-fpm, else old code is served"

CATALOGUE: dict[str, Knob] = {
    knob.name: knob
    for knob in (
        Knob("ini.opcache.enable", BOOLEAN, "restart", proof.opcache_switch),
        Knob("ini.opcache.jit", JIT, "restart", proof.jit_mode, "JIT defects show as wrong answers or crashes; costs memory"),
        Knob("ini.opcache.jit_buffer_size", SIZE, "restart", proof.jit_buffer),
        _opcache("opcache.validate_timestamps", BOOLEAN, STALE_CODE),
        _opcache("opcache.revalidate_freq", integer(0, 1 << 31), "old code is served for that many seconds"),
        _opcache("opcache.revalidate_path", BOOLEAN),
        _opcache("opcache.enable_file_override", BOOLEAN, "file_exists() sees cached scripts that were deleted"),
        _opcache("opcache.memory_consumption", integer(8, 1 << 16)),
        _opcache("opcache.interned_strings_buffer", integer(0, 4095)),
        _opcache("opcache.max_accelerated_files", integer(200, 1_000_000)),
        _opcache("opcache.save_comments", BOOLEAN, "code that reads doc comments (annotations) breaks"),
        _opcache("opcache.optimization_level", TEXT),
        _realpath("realpath_cache_size", SIZE, "memory per worker"),
        _realpath("realpath_cache_ttl", integer(0, 1 << 31), "moved or replaced directories are seen late"),
        Knob("ini.zend_extension", TEXT, "restart", proof.extension),
        Knob("ini.extension", TEXT, "restart", proof.extension),
        _ini("memory_limit", SIZE),
        _ini("zend.assertions", integer(-1, 1)),
        _ini("output_buffering", TEXT),
        _waiting("pool.pm", choice("static", "dynamic", "ondemand"), "reload", default="static"),
        _waiting("pool.pm.max_children", integer(1, 10_000), "reload", proof.worker_count),
        _waiting("pool.pm.start_servers", integer(1, 10_000), "reload"),
        _waiting("pool.pm.min_spare_servers", integer(1, 10_000), "reload"),
        _waiting("pool.pm.max_spare_servers", integer(1, 10_000), "reload"),
        _waiting("pool.pm.process_idle_timeout", DURATION, "reload", default="10s"),
        _waiting("pool.pm.max_requests", integer(0, 1 << 31), "reload", default="0"),
        _waiting("pool.listen.backlog", integer(-1, 65_535), "restart", default="511"),
        _waiting("web.server", choice("nginx", APACHE), "restart", proof.web_server, "nginx"),
        _waiting("web.socket", choice("unix", "tcp"), "restart", proof.socket_family, "unix"),
        _waiting("web.workers", integer(1, 256), "reload", default="1"),
    )
}


def knob_for(name: str) -> Knob:
    """The knob of a full name; one that the catalogue does not list is any other setting of its layer."""
    if name in CATALOGUE:
        return CATALOGUE[name]
    layer, _, rest = name.partition(".")
    own = pool_ini(name)
    if own:
        return structs.replace(knob_for(f"ini.{own}"), name=name, apply="reload")
    proofs = {"env": proof.environment, "app": proof.app_setting, "ext": proof.extension_file}
    whole = {
        "php": proof.executable,
        "php.extension_dir": proof.in_force("extension_dir"),
        "php.ini": proof.ini_file,
        "php.scan_dir": proof.scan_dir,
        "source": proof.commit,
    }
    seen = whole.get(name) or (proofs[layer](rest) if layer in proofs else proof.in_force(rest))
    return Knob(name, TEXT, "restart", seen)


def pool_ini(name: str) -> str:
    """The php.ini name in `pool.php_admin_value[NAME]` and its kin; '' for any other setting."""
    match = _POOL_INI.fullmatch(name)
    return match[1] if match else ""


POOL_NAMES = frozenset(name.removeprefix("pool.") for name in CATALOGUE if name.startswith("pool."))
WEB_NAMES = frozenset(name.removeprefix("web.") for name in CATALOGUE if name.startswith("web."))
