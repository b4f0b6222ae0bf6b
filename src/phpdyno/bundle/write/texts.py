"""The files of a bundle as text. Pure."""

from collections.abc import Mapping

from phpdyno.errors import UsageError
from phpdyno.server_files.php import ini_value, render_ini

SAYS = "Made by phpdyno from the run {run}. `phpdyno bundle rollback` takes it back; edits are noticed."


def ini_text(settings: Mapping[str, str], run: str) -> str:
    """A fragment of php.ini."""
    return f"; {_says(run)}\n{render_ini(settings)}"


def pool_text(settings: Mapping[str, str], pool: str, run: str, remarks: Mapping[str, str] | None = None) -> str:
    """Lines that continue a pool's section. php.ini values and variables are any text, the pool's
    own directives words and numbers.

    `remarks` say why, by the name of the directive; each becomes a comment above its line.
    """
    if any(mark in pool for mark in "[]\r\n"):
        raise UsageError(f"{pool!r} is no name of a pool", where="bundle")
    lines = []
    for name, value in sorted(settings.items()):
        lines += [f"; {' '.join(remarks[name].split())}"] if remarks and name in remarks else []
        lines.append(f"{name} = {ini_value(value) if '[' in name else value}")
    return "\n".join([f"; {_says(run)}", f"[{pool}]", *lines, ""])


def nginx_text(settings: Mapping[str, str], run: str) -> str:
    """Directives for nginx's `http`. Raises UsageError for a value that would end its directive."""
    for name, value in settings.items():
        if any(mark in value for mark in ";{}#"):
            raise UsageError(f"nginx's {name} cannot be {value!r}", where="bundle")
    return "\n".join([f"# {_says(run)}", *(f"{name} {value};" for name, value in sorted(settings.items())), ""])


def sysctl_text(settings: Mapping[str, str], run: str) -> str:
    """A file of sysctl.d."""
    return "\n".join([f"# {_says(run)}", *(f"{name} = {value}" for name, value in sorted(settings.items())), ""])


def systemd_text(variables: Mapping[str, str], run: str) -> str:
    """A drop-in of the service: its environment."""
    lines = [f'Environment="{name}={_for_systemd(value)}"' for name, value in sorted(variables.items())]
    return "\n".join([f"# {_says(run)}", "[Service]", *lines, ""])


def _for_systemd(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")


def _says(run: str) -> str:
    return SAYS.format(run=" ".join(run.split()))
