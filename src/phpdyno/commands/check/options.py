"""The command `phpdyno check` and its options."""

import sys

from phpdyno.commands.common.options import NO_REQUESTS, AppName, AsJson, Control, Docroot, RequestOptions, Urls, Verbose


def check(
    reference: AppName = "",
    /,
    *,
    control: Control = "",
    docroot: Docroot = None,
    url: Urls = (),
    requests: RequestOptions = NO_REQUESTS,
    json: AsJson = False,
    verbose: Verbose = False,
) -> int:
    """Bring an app up once: can each target be measured, what does it cost, what does PHP warn of, what does the app reach for."""
    from phpdyno.commands.check import command  # noqa: PLC0415 (numpy and the native core: not for --help)

    tune = command.tuned(sys.argv[1:])

    return command.run(reference, control=control, docroot=docroot, urls=url, requests=requests, tune=tune, json=json, verbose=verbose)
