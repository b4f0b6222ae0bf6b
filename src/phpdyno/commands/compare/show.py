"""A comparison shown again: terminal, JSON and report.html, all from its journal alone."""

from pathlib import Path

from rich.console import RenderableType

from phpdyno.commands.common.show import PAGE, Form, show_run, typed_path
from phpdyno.commands.compare.answer import compare_answer
from phpdyno.commands.compare.view.shape import RunView
from phpdyno.commands.compare.view.whole import view_of
from phpdyno.journal.reader import find_journal, read_journal


def report(run: Path, *, form: Form = "answer") -> RunView:
    """Write report.html beside the journal and print the terminal report (or the JSON document);
    the path comes last.

    A page that cannot be written (a full disk, somebody else's run) is said after what can be
    shown.
    """
    journal = find_journal(run)
    view = view_of(read_journal(journal), journal.parent.name)

    folder = journal.parent
    answer = compare_answer(view, typed_path(folder))

    def drawn() -> str:
        from phpdyno.commands.compare.render.page import render_page  # noqa: PLC0415 (jinja2 and plotly load slowly)

        return render_page(view, answer)

    def told() -> RenderableType:
        from phpdyno.commands.compare.render.terminal import summary  # noqa: PLC0415 (rich tables: not with --json)

        return summary(view)

    show_run(folder / PAGE, drawn, told, document=view, answer=answer, form=form)
    return view
