"""The recommended pool as php-fpm takes it, each directive with its reason. Pure."""

from collections.abc import Sequence

from phpdyno.commands.size.found import ManagerRow, PoolSettings, RecommendedPool, TargetCost
from phpdyno.commands.size.measuring.pools import BACKLOG
from phpdyno.commands.size.record import SizeConcluded
from phpdyno.report.words import count

SOMAXCONN = "os.net.core.somaxconn"


def pool_settings(
    recommended: RecommendedPool,
    costs: Sequence[TargetCost],
    managers: Sequence[ManagerRow],
    concluded: SizeConcluded | None,
    *,
    backlog: str | None = None,
) -> PoolSettings:
    """The pool as php-fpm takes it: static, since a pool that starts workers in a burst lets
    requests wait for them.

    What leaks is replaced in time. `backlog` is what the control names; it is never made less.
    """
    waiting = max(BACKLOG, int(backlog)) if backlog is not None and int(backlog) >= 0 else BACKLOG
    settings = {"pm": "static", "pm.max_children": str(recommended.workers), "listen.backlog": str(waiting)}
    reasons = {
        "pm": _manager_reason(managers),
        "pm.max_children": _workers_reason(recommended),
        "listen.backlog": "as many connections may wait at the socket while all workers are busy; net.core.somaxconn has to allow it",
    }
    leaking = [cost for cost in costs if cost.max_requests is not None]
    if leaking:
        worst = min(leaking, key=lambda cost: cost.max_requests or 0)
        settings["pm.max_requests"] = str(worst.max_requests)
        reasons["pm.max_requests"] = f"{worst.label} grows by {worst.growth_kib or 0.0:.0f} KiB with each thousand requests"
    limit = concluded.somaxconn if concluded is not None else None
    kernel = {SOMAXCONN: str(waiting)} if limit is not None and limit < waiting else {}
    return PoolSettings(settings=settings, reasons=reasons, kernel=kernel)


def _workers_reason(recommended: RecommendedPool) -> str:
    workers = count(recommended.workers, "worker")
    asked = f"{recommended.rate_per_s:.3g} requests/s as was asked"
    held = recommended.meets is not False
    return {
        "knee": f"{workers}: more bring no throughput that matters, fewer lose some",
        "objective": f"{workers}: the fewest that are predicted to hold {asked}" if held else f"{workers}: they did not hold {asked}",
        "unsure": f"{workers}: predicted to hold {asked}, but not for certain" if held else f"{workers}: they did not hold {asked}",
        "nothing": f"{workers}: no number of workers holds what was asked, more than these bring nothing",
        "cap": f"{workers}: a limit allows no more, though more would bring more",
    }[recommended.reason]


def _manager_reason(managers: Sequence[ManagerRow]) -> str:
    static = next((row for row in managers if row.manager == "static"), None)
    others = [row for row in managers if row.manager != "static"]
    if static is None or not others:
        return "static: no request waits until a worker was started"
    told = ", ".join(f"{row.manager} {row.p99_ms:,.0f} ms" for row in others)
    return f"static: in a burst of {static.rate_per_s:.3g} requests/s after an idle spell p99 was {static.p99_ms:,.0f} ms ({told})"
