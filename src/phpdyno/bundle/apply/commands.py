"""Which commands bring placed files into effect, and which services that takes. Pure."""

from msgspec import Struct

from phpdyno.bundle.manifest import Manifest
from phpdyno.knobs.catalogue import knob_for

NGINX = "nginx"


class Follow(Struct, frozen=True):
    """What has to follow once files were placed or taken away. A record keeps it, so that a
    rollback needs no bundle.

    `services` are those concerned, each with `reload` or `restart`, in the order in which they are
    to be done. `reread`: systemd has to read its files again. `kernel` are files with settings of
    the kernel. `pages` is the number of reserved huge pages that a rollback goes back to, None
    where the bundle reserves none.
    """

    services: dict[str, str]
    reread: bool = False
    kernel: tuple[str, ...] = ()
    pages: int | None = None


def follow_of(manifest: Manifest) -> Follow:
    """What follows the apply or the rollback of a bundle."""
    return Follow(
        services(manifest),
        reread=any(each.kind == "systemd" for each in manifest.files),
        kernel=tuple(each.target for each in manifest.files if each.kind == "sysctl"),
        pages=manifest.host.hugetlb_pages if manifest.reserving else None,
    )


def commands_after(follow: Follow) -> tuple[str, ...]:
    """What an operator types after apply."""
    return (*(f"sysctl -p {place}" for place in follow.kernel), *_to_services(follow))


def commands_back(follow: Follow) -> tuple[str, ...]:
    """What an operator types after rollback: the file of kernel settings is gone, and reserved
    pages are given back by their number."""
    return (*_to_services(follow), *([f"sysctl vm.nr_hugepages={follow.pages}"] if follow.pages is not None else []))


def _to_services(follow: Follow) -> tuple[str, ...]:
    reread = ["systemctl daemon-reload"] if follow.reread else []
    return (*reread, *(f"systemctl {verb} {service}" for service, verb in follow.services.items()))


def services(manifest: Manifest) -> dict[str, str]:
    """Services that the bundle concerns, each with `reload` or `restart`, in the order in which
    they are to be done."""
    kinds = {each.kind for each in manifest.files}
    found: dict[str, str] = {}
    if kinds - {"nginx"}:
        placed = [name for each in manifest.files if each.kind != "nginx" for name in each.settings]
        restart = "systemd" in kinds or "sysctl" in kinds or any(knob_for(name).apply != "reload" for name in placed)
        found[manifest.php.unit] = "restart" if restart else "reload"
    if "nginx" in kinds:
        found[NGINX] = "reload"
    return found
