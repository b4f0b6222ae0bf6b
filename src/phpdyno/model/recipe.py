"""How a PHP is compiled, as data: what a recipe's words stand for."""

from typing import Literal

from msgspec import Struct

Level = Literal["2", "3"]
Phase = Literal["plain", "generate", "use"]
"""`generate`: the binary writes a profile when it ends. `use`: it is compiled by one."""


class Recipe(Struct, frozen=True):
    """One way to compile PHP; the default is plain -O2, the control of all others.

    `march`: as in GCC's -march, '' for the compiler's default. `words`: names of further flags.
    """

    level: Level = "2"
    march: str = ""
    lto: bool = False
    pgo: bool = False
    bolt: bool = False
    words: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its words in their order, joined by `+`: equal recipes have one name."""
        parts = [f"march={self.march}"] if self.march else []
        parts += self.words
        parts += [name for name, on in (("lto", self.lto), ("pgo", self.pgo), ("bolt", self.bolt)) if on]
        return "+".join(([f"o{self.level}"] if self.level != "2" or not parts else []) + parts)

    @property
    def trained(self) -> bool:
        """Whether it wants a profile of the app's traffic."""
        return self.pgo or self.bolt
