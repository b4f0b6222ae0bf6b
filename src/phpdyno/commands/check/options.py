"""The command `phpdyno check` and its options."""

from phpdyno.commands.common.options import NO_REQUESTS, AppName, AsJson, Control, Docroot, RequestOptions, Urls


def check(
    reference: AppName = "",
    /,
    *,
    control: Control = "",
    docroot: Docroot = None,
    url: Urls = (),
    requests: RequestOptions = NO_REQUESTS,
    json: AsJson = False,
) -> int:
    """Bring an app up once: can each target be measured, what does it cost, what does PHP warn of, what does the app reach for."""
    from phpdyno.commands.check import command  # noqa: PLC0415 (numpy and the native core: not for --help)

    return command.run(reference, control=control, docroot=docroot, urls=url, requests=requests, json=json)
