"""What became of an arm's answers under load: how many were compared, how, and how many were not
the control's."""

from typing import Self

from msgspec import Struct


class AnswerCount(Struct, frozen=True):
    """Answers of one arm while it was driven.

    `exact` were compared byte for byte, `masked` byte for byte but for what moves in the control's,
    `by_length` by status and length alone. `wrong` of all of them were none that the control was
    seen to give; `first` says what was wrong with the first of those.
    """

    exact: int = 0
    masked: int = 0
    by_length: int = 0
    wrong: int = 0
    first: str = ""

    @property
    def total(self) -> int:
        """Number of answers that were compared, in whatever way."""
        return self.exact + self.masked + self.by_length

    def plus(self, other: "AnswerCount") -> Self:
        """The two counts added up; `first` is that of the earlier one."""
        return type(self)(
            self.exact + other.exact,
            self.masked + other.masked,
            self.by_length + other.by_length,
            self.wrong + other.wrong,
            self.first or other.first,
        )
