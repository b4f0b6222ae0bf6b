"""What `--help` ends with: commands that a newcomer can copy."""

from collections.abc import Mapping

EXAMPLES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "": (
        ("phpdyno doctor", "what this host can decide, and what would help"),
        ("phpdyno tune wordpress --budget 7m", "a demonstration: what helps WordPress here"),
        ("phpdyno tune --docroot /srv/shop/public --url / --url '/search?q=tea'", "what helps your app"),
        ("sudo phpdyno bundle apply runs/…/bundle", "have it; sudo phpdyno bundle rollback undoes it"),
    ),
    "init": (
        ("phpdyno init /srv/shop", "writes an app.toml from what the directory shows, and checks it"),
        ("phpdyno init /srv/shop --print", "shows it, and writes nothing"),
    ),
    "tune": (
        ("phpdyno tune wordpress --budget 7m", "the built-in demonstration"),
        ("phpdyno tune app.toml --budget 30m", "an app with its database, described in app.toml"),
        ("phpdyno tune --docroot public --url / --from-log access.log", "asked as your visitors ask"),
        ("sudo phpdyno tune app.toml --control live --budget 30m", "on top of what your running php-fpm has"),
        ("phpdyno tune app.toml --knob ini.opcache.jit --knob pool.pm", "only some settings"),
    ),
    "compare": (
        ("phpdyno compare wordpress --treatment 'ini.opcache.jit=tracing;ini.opcache.jit_buffer_size=64M'", "one change"),
        ("phpdyno compare app.toml --treatment source=v1.3", "another commit of the app"),
        ("phpdyno compare app.toml --treatment build=NAME", "a PHP that `phpdyno build` made"),
        ("phpdyno compare --script bench.php --treatment ini.opcache.jit=tracing", "a command-line script"),
        ("phpdyno compare app.toml --aa", "the control against itself: the noise of this host"),
    ),
    "check": (("phpdyno check --docroot public --url / --url '/search?q=tea'", "three seconds: can it be measured?"),),
    "doctor": (("phpdyno doctor", "ten seconds; changes nothing"),),
    "report": (("phpdyno report runs/20260102-030405-tune-shop --verbose", "all that was found, from the journal alone"),),
    "bundle": (
        ("sudo phpdyno bundle apply runs/…-tune-shop/bundle", "places the files, tested, or changes nothing"),
        ("sudo phpdyno bundle verify runs/…-tune-shop/bundle", "proves each setting on the running workers"),
        ("sudo phpdyno bundle rollback", "everything back, byte for byte"),
    ),
    "measure": (
        ("phpdyno measure app.toml", "throughput, times and memory from 1 to many in flight"),
        ("phpdyno measure app.toml --concurrency 1,4,16 --arm pool.pm.max_children=16", "chosen loads, two pools"),
    ),
    "size": (
        ("phpdyno size app.toml --p99 200ms --rate 50/s", "how many workers hold that"),
        ("phpdyno size app.toml --memory 2G", "how many fit"),
    ),
    "watch": (
        ("sudo phpdyno watch", "what limits the running pools now"),
        ("sudo phpdyno watch --serve 9180", "the same as a page, and as metrics for Prometheus"),
    ),
    "explain": (
        ("phpdyno explain app.toml", "where a request's time goes"),
        ("phpdyno explain app.toml ini.opcache.jit=tracing", "what a change did inside"),
    ),
    "build": (
        ("phpdyno build --train wordpress --recipe pgo", "PHP compiled by the profile of an app's traffic"),
        ("phpdyno build --list", "what is there"),
    ),
    "ladder": (("phpdyno ladder wordpress --budget 25m", "which steps of a faster PHP are worth it"),),
    "matrix": (("phpdyno matrix wordpress hello", "whose profile helps or hurts whom"),),
    "study": (("phpdyno study studies/opcache.toml", "a published claim, measured again here"),),
    "selfcheck": (("phpdyno selfcheck", "comparisons whose answer is known"),),
    "connectors": (("phpdyno connectors --engines sync,fibers,batch", "clients of Tarantool"),),
    "cache": (("phpdyno cache --clean", "remove what it kept on this host"),),
    "completion": (("phpdyno completion bash > ~/.local/share/bash-completion/completions/phpdyno", "complete words in new shells"),),
    "manual": (("phpdyno manual | man -l -", "read it"), ("phpdyno manual > /usr/local/share/man/man1/phpdyno.1", "install it")),
}
"""By command ('' is phpdyno itself): each a line that runs, and what it is for."""


def epilogue(examples: tuple[tuple[str, str], ...]) -> str:
    """The examples as `--help` shows them: each command, with a comment that a shell skips."""
    return "Examples:\n\n" + "\n".join(f"* `{line}  # {why}`" for line, why in examples)


EPILOGUES: Mapping[str, str] = {name: epilogue(examples) for name, examples in EXAMPLES.items()}
"""The same as text, by command."""
