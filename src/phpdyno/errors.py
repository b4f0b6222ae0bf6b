"""Faults that a person can act on: what happened, where, and the next step. Findings are verdicts,
never exceptions."""


class DynoError(Exception):
    """A fault that ends the command with one clear line; `exit_code` is the process's."""

    exit_code = 1

    def __init__(self, what: str, *, where: str = "", next_step: str = "") -> None:
        self.what = what
        self.where = where
        self.next_step = next_step
        super().__init__(what)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        remedy = f"; {self.next_step}" if self.next_step else ""
        return one_line(f"{place}{self.what}{remedy}")


def one_line(text: str) -> str:
    """Whatever a name holds (a line feed, an escape sequence), shown and not obeyed."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


class UsageError(DynoError):
    """The command line, a SPEC or a TOML file says something that cannot be done; found before
    anything starts."""

    exit_code = 2


class BudgetTooSmall(DynoError):  # noqa: N818 (it names what is the matter)
    """No interval can become finite within a budget; with `enough_s` seconds one can."""

    def __init__(self, what: str, *, budget_s: float, enough_s: int, instead: str = "fewer treatments") -> None:
        self.enough_s = enough_s
        super().__init__(what, where=f"--budget {budget_s:.0f}s", next_step=f"give at least --budget {enough_s}s, or {instead}")


class Interrupted(KeyboardInterrupt):
    """The user ended a run that can go on later; `run` is its directory, `command` the one whose
    --resume takes it."""

    def __init__(self, run: str, command: str = "compare") -> None:
        self.run = run
        self.command = command
        super().__init__(run)
