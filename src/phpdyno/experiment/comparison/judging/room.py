"""Whether there was room beside PHP: requests per second that nginx, the database or the generator
limited say nothing of a difference in PHP. Pure."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from phpdyno.experiment.common.limits.beside_php import beside_php_words
from phpdyno.experiment.common.limits.bottleneck import find_bottleneck
from phpdyno.journal.records import Calibrated
from phpdyno.model.arm import Arm
from phpdyno.model.facts import HostFacts
from phpdyno.model.observation import Cost, Observation
from phpdyno.model.plan import Plan, Transport
from phpdyno.model.runs.bottleneck import Bottleneck, Kind, Load
from phpdyno.model.verdict import Verdict
from phpdyno.server_files.apache import is_apache, of_both_kinds
from phpdyno.server_files.php import most_workers

BESIDE_PHP: frozenset[Kind] = frozenset({"database", "web", "generator", "helpers"})
"""Findings in which nginx, database or generator was full, and PHP's cores were not."""

SERVED: frozenset[Transport] = frozenset({"http", "fastcgi"})
"""How a server is asked by our generator; elsewhere what runs beside PHP is what is asked."""

Slots = Sequence[tuple[Cost, float]]
"""What an arm took in each block, and the share of that block that was stolen."""


class RoomBesidePhp(Struct, frozen=True):
    """What was planned, on which host, and what the calibration of throughput gave generator and
    nginx (None: one thread, one process)."""

    plan: Plan
    host: HostFacts | None
    calibrated: Calibrated | None

    def held_to(self, verdict: Verdict, arm: Arm, counted: Sequence[Observation]) -> Verdict:
        """The verdict on a treatment in view of what was full in its blocks that count: none where
        the control already met a limit beside PHP.

        A web server is judged by its own limit: where nginx was full, a treatment that changes it
        may have moved just that. What limits the treatment alone is a warning: it got as far as
        that. Nothing is said where PHP was the limit or nothing was, and where it cannot be told:
        journals of before the generator's CPU was kept, operations of a script or a client.
        """
        limits = self._limits(arm, counted)
        if verdict.kind == "invalid" or not limits:
            return verdict
        words = _words(limits)
        control = limits.get("control")
        changes_web = any(name.startswith("web.") for name in arm.changed)
        if control is None or (control.kind == "web" and changes_web):
            return structs.replace(verdict, warnings=(*verdict.warnings, words))
        return Verdict(verdict.treatment, "invalid", proofs=verdict.proofs, reason=words, metric=verdict.metric)

    def words(self, arm: Arm, counted: Sequence[Observation]) -> str:
        """What is said of a treatment whose verdict was recorded before this was looked at; '' for
        nothing."""
        limits = self._limits(arm, counted)
        return _words(limits) if limits else ""

    def _limits(self, arm: Arm, counted: Sequence[Observation]) -> dict[str, Bottleneck]:
        plan = self.plan
        if plan.metric_of(arm.name) != "throughput":
            return {}
        sides: dict[str, tuple[Arm, Slots]] = {
            "control": (plan.control_of(arm.name), [(each.control, each.steal_fraction) for each in counted]),
            "treatment": (arm, [(each.treated, each.steal_fraction) for each in counted]),
        }
        loads = {name: load for name, (of, slots) in sides.items() if (load := self.load(of, slots)) is not None}
        limits = {name: find_bottleneck(load) for name, load in loads.items()}
        return {name: limit for name, limit in limits.items() if limit.kind in BESIDE_PHP}

    def load(self, arm: Arm, slots: Slots) -> Load | None:
        """The readings of an arm, as a sweep has them of its visits; None where too little was
        kept.

        The helpers' cores are as busy as what we know to run there. What was stolen from PHP's
        cores counts as theirs: more was asked of them.
        """
        plan, host = self.plan, self.host
        costs = [cost for cost, _ in slots]
        generator = [cost.generator_ns for cost in costs if cost.generator_ns is not None]
        wall_ns = sum(cost.wall_ns for cost in costs)
        if (
            plan.transport not in SERVED
            or host is None
            or not wall_ns
            or len(generator) < len(costs)
            or not host.measured_cores
            or not host.helper_cores
        ):
            return None
        arms = [each for panel in plan.panels() for each in (panel.control, *panel.treatments)]
        beside = of_both_kinds(arms) and not set(host.measured_cores) & set(host.helper_cores)
        through_nginx = plan.transport == "http" and not is_apache(arm)
        threads, workers = (self.calibrated.threads, self.calibrated.nginx_workers) if self.calibrated else (1, 1)

        def on_php(cost: Cost) -> int:
            return max(0, cost.php_cpu_ns) + max(0, cost.web_cpu_ns) * beside

        return Load(
            duration_ns=wall_ns,
            concurrency=plan.loaded_concurrency,
            workers=most_workers(arm),
            php_cores=host.measured_cores,
            helper_cores=host.helper_cores,
            php_ns=sum(map(on_php, costs)),
            generator_ns=sum(generator),
            web_ns=sum(max(0, cost.web_cpu_ns) for cost in costs) if through_nginx and not beside else None,
            database_ns=sum(max(0, cost.database_cpu_ns) for cost in costs) or None,
            services_ns=sum(max(0, ns) for cost in costs for ns in cost.services_cpu_ns.values()) or None,
            generator_threads=threads,
            web_workers=int(arm.layer("web").get("workers", workers)),
            php_cores_ns=sum(round(on_php(cost) / max(1e-3, 1.0 - steal)) for cost, steal in slots),
        )


def _words(limits: Mapping[str, Bottleneck]) -> str:
    """Says that requests per second of a treatment, of its control or of both were limited."""
    whose = "" if len(limits) == 2 else f" of the {next(iter(limits))}"
    return beside_php_words(max(limits.values(), key=lambda each: each.shares.helper_cores), whose)
