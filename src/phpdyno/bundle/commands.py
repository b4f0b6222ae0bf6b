"""Which commands bring placed files into effect, and which services that takes. Pure."""

from phpdyno.bundle.manifest import Manifest
from phpdyno.knobs.catalogue import knob_for

NGINX = "nginx"


def commands_after(manifest: Manifest) -> tuple[str, ...]:
    """What an operator types after apply."""
    return (*(f"sysctl -p {each.target}" for each in manifest.files if each.kind == "sysctl"), *_to_services(manifest))


def commands_back(manifest: Manifest) -> tuple[str, ...]:
    """What an operator types after rollback: the file of kernel settings is gone, and reserved pages are given back by their number."""
    pages = [f"sysctl vm.nr_hugepages={manifest.host.hugetlb_pages}"] if manifest.reserving else []
    return (*_to_services(manifest), *pages)


def _to_services(manifest: Manifest) -> tuple[str, ...]:
    reload = ["systemctl daemon-reload"] if any(each.kind == "systemd" for each in manifest.files) else []
    return (*reload, *(f"systemctl {verb} {service}" for service, verb in services(manifest).items()))


def services(manifest: Manifest) -> dict[str, str]:
    """Services that the bundle concerns, each with `reload` or `restart`, in the order in which they are to be done."""
    kinds = {each.kind for each in manifest.files}
    found: dict[str, str] = {}
    if kinds - {"nginx"}:
        placed = [name for each in manifest.files if each.kind != "nginx" for name in each.settings]
        restart = "systemd" in kinds or "sysctl" in kinds or any(knob_for(name).apply != "reload" for name in placed)
        found[manifest.php.unit] = "restart" if restart else "reload"
    if "nginx" in kinds:
        found[NGINX] = "reload"
    return found
