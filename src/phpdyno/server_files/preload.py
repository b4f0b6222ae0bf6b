"""A script for opcache.preload: it compiles files of an app when php-fpm starts, and runs none of
them."""

from collections.abc import Sequence

ROOT_VARIABLE = "PHPDYNO_PRELOAD_ROOT"
"""Tells the script where the app lies: instances serve a copy, and each session has another one."""


def render_preload(files: Sequence[str], root: str = "") -> str:
    """The script for `files`, relative to the app's root; `root` is where that lies unless
    ROOT_VARIABLE says otherwise.

    A file that is gone is left out, so that a deployment never keeps php-fpm from starting.
    """
    lines = "".join(f"    {_quoted(each)},\n" for each in files)
    return (
        "<?php\n"
        "// What the app loaded while it was measured: compiled when php-fpm starts, not run. A deployment needs a restart of php-fpm.\n"
        f"$root = (string) (getenv('{ROOT_VARIABLE}') ?: {_quoted(root)});\n"
        f"foreach ([\n{lines}] as $file) {{\n"
        "    if ($root !== '' && is_file(\"$root/$file\")) {\n"
        '        opcache_compile_file("$root/$file");\n'
        "    }\n"
        "}\n"
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
