"""PHP pages that work until something happens to them."""


def page_that(variable: str, *, after: int, then: str) -> str:
    """A page of 500 bytes; where the environment has `variable`, it does `then` (PHP) in every
    request of its pool beyond `after`. How many requests warm a pool up depends on the host, so the
    slots alone have to be more than `after`."""
    return f"""<?php
$counter = ini_get('session.save_path') . '/counter';
if (getenv('{variable}')) {{
    file_put_contents($counter, 'x', FILE_APPEND);
    clearstatcache();
    if (filesize($counter) > {after}) {{ {then} }}
}}
echo str_repeat('x', 500);
"""
