"""Is a bundle at work? Its settings judged on what running workers told. Pure."""

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from phpdyno.bundle.manifest import Manifest
from phpdyno.bundle.write.division import BEFORE_WORKERS, MARK, PRELOAD
from phpdyno.knobs.catalogue import knob_for, pool_ini
from phpdyno.knobs.proof import accepted
from phpdyno.model.facts import WorkerFacts

State = Literal["at work", "not at work", "cannot be asked"]
ASKED = frozenset({"ini", "pool", "php", "ext", "env", "os"})
"""Layers whose settings a worker shows."""
UNMARKED = "php-fpm's files say it; whether the running one has read them since, no worker tells"
_MARK = re.compile(rb"^env\[" + MARK.encode() + rb"\] = (\w+)$", re.MULTILINE)
OF_THE_HOST = frozenset({"os.vm.nr_hugepages", "os.net.core.somaxconn", "os.thp"})
UNASKABLE = {
    "web": "nginx does not tell its settings; `nginx -T` shows what its files say",
    "app": "the app keeps this setting, and it is not asked",
    "source": "a worker does not tell which commit it serves",
    "os": "phpdyno does not know where the kernel shows it",
}


class Live(Struct, frozen=True):
    """What was read of the running pool. `configured` are its settings as php-fpm reads its files
    now, by full name.

    `workers` are those that answered, `unasked` says why none did. `mark` is the value that the
    bundle's last fragment gives to workers. `env_known`: the environment that php-fpm was started
    with could be read.
    """

    configured: dict[str, str] = field(default_factory=dict)
    workers: tuple[WorkerFacts, ...] = ()
    unasked: str = ""
    mark: str = ""
    env_known: bool = True


class SettingProof(Struct, frozen=True):
    """What came of one setting."""

    setting: str
    value: str
    state: State
    detail: str


def prove_all(manifest: Manifest, live: Live) -> tuple[SettingProof, ...]:
    """One per accepted setting, what is left to a person included."""
    return tuple(_prove(manifest, live, name, value) for name, value in manifest.settings.items())


def _prove(manifest: Manifest, live: Live, name: str, value: str) -> SettingProof:
    if name == PRELOAD:
        value = next((each.target for each in manifest.files if each.kind == "preload"), value)
    directive = name.startswith("pool.") and not pool_ini(name)
    if directive and (contradiction := _not_configured(live, name, value)):
        return SettingProof(name, value, "not at work", contradiction)
    if reason := _unaskable(live, name, directive=directive):
        return SettingProof(name, value, "cannot be asked", reason)
    told = [(_directive(live, facts, name, value) if directive else knob_for(name).proof(facts, value)) for facts in live.workers]
    wrong = [detail for proved, detail in told if not proved]
    if wrong:
        share = f" ({len(wrong)} of {len(told)} workers)" if len(told) > 1 else ""
        return SettingProof(name, value, "not at work", f"{wrong[0]}{share}")
    several = f" ({len(told)} workers asked)" if len(told) > 1 else ""
    return SettingProof(name, value, "at work", f"{told[0][1]}{several}")


def _unaskable(live: Live, name: str, *, directive: bool) -> str:
    """Why no worker can tell a setting; '' where one can."""
    layer, _, rest = name.partition(".")
    if layer == "os" and name not in OF_THE_HOST:
        return UNASKABLE["os"]
    if not (layer in ASKED or name == "web.socket"):
        return UNASKABLE.get(layer, "no process shows it")
    if not live.workers:
        return live.unasked or "no worker answered"
    if layer == "env" and not live.env_known and BEFORE_WORKERS.fullmatch(rest):
        return "the environment that php-fpm was started with cannot be read"
    return UNMARKED if directive and not live.mark else ""


def _not_configured(live: Live, name: str, value: str) -> str:
    """What php-fpm's files say of a directive where that is something else; ''."""
    said = live.configured.get(name)
    return "" if said is not None and knob_for(name).domain.same(said, value) else f"php-fpm's files say {said or 'nothing of it'}"


def _directive(live: Live, facts: WorkerFacts, name: str, value: str) -> tuple[bool, str]:
    """A directive of the pool that php-fpm's files say: the php-fpm that started the worker had
    read them, and what shows agrees."""
    if facts.env.get(MARK) != live.mark:
        return False, "the worker was started before php-fpm read the bundle's fragment"
    knob = knob_for(name)
    if knob.proof is accepted:
        return True, "php-fpm has read the bundle's fragment, and no later line says otherwise"
    return knob.proof(facts, value)


def mark_in(manifest: Manifest, contents: Mapping[str, bytes]) -> str:
    """The mark that the bundle's last fragment gives to workers; '' where it has no such
    fragment."""
    path = next((each.path for each in manifest.files if each.kind == "pool-last"), "")
    found = _MARK.search(contents[path]) if path else None
    return found[1].decode() if found else ""
