"""A ladder shown again, and the comparison that it rests on."""

from pathlib import Path

from rich.console import RenderableType

from phpdyno.commands.common.show import PAGE, Form, folder_of, show_run, typed_path, write_page
from phpdyno.commands.ladder.answer import ladder_answer
from phpdyno.commands.ladder.steps import measured_in
from phpdyno.commands.ladder.view import LadderView, ladder_view
from phpdyno.journal.ladder import KNOBS, read_ladder
from phpdyno.journal.reader import FILE, begun_in, find_journal, read_journal

COMPARISON_PAGE = "comparison.html"


def report_ladder(run: Path, *, form: Form = "answer") -> LadderView:
    """Write report.html beside the record of a ladder and print the terminal report (or the JSON
    document).

    The comparison that it rests on gets a page of its own.
    """
    folder = folder_of(run)
    name = folder.absolute().name
    measured = measured_in(read_journal(find_journal(folder)), name)
    on_top = begun_in(folder / KNOBS)
    knobs = measured_in(read_journal(on_top / FILE), name) if on_top else None
    view = ladder_view(read_ladder(folder), measured, knobs)

    answer = ladder_answer(view, typed_path(folder))

    def drawn() -> str:
        from phpdyno.commands.compare.render.page import render_page  # noqa: PLC0415
        from phpdyno.commands.ladder.render.page import render_ladder  # noqa: PLC0415 (jinja2 and plotly load slowly)

        # Where this one cannot be written the other cannot either, and says so.
        write_page(folder / COMPARISON_PAGE, render_page(measured.view))
        return render_ladder(view, answer)

    def told() -> RenderableType:
        from phpdyno.commands.ladder.render.terminal import ladder_summary  # noqa: PLC0415 (rich tables: not with --json)

        return ladder_summary(view)

    show_run(folder / PAGE, drawn, told, document=view, answer=answer, form=form)
    return view
