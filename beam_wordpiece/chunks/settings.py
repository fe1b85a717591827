"""The settings of `TokenizeChunks`. No Beam in here."""

from __future__ import annotations

import math
from dataclasses import dataclass

from beam_wordpiece.config import DOCUMENT_MB
from beam_wordpiece.errors import ConfigError

MB = 1 << 20
# Where its chunks become rows, a document takes room on a disk or in Beam's state, and not in memory.
CHUNKED_DOCUMENT_MB = 1024

_CHOICES = {"rows": ("documents", "chunks"), "on_gap": ("dead_letter", "emit"), "end": ("marked", "highest")}


@dataclass(frozen=True)
class ChunkSettings:
    """How chunks become rows. Fields and units: as the arguments of `TokenizeChunks`. Raises ConfigError.

    `max_document_mb`: what None stands for depends on `rows`.
    """

    rows: str = "documents"
    on_gap: str = "dead_letter"
    max_document_mb: float | None = None
    max_early_mb: float = 64
    gap_timeout: float = 600.0
    end: str = "marked"

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ConfigError(f"{name} has to be {' or '.join(choices)}, not {getattr(self, name)!r}.")
        for name in ("max_document_mb", "max_early_mb", "gap_timeout"):
            number = self._document_mb if name == "max_document_mb" else getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 < number < math.inf:
                raise ConfigError(f"{name} has to be a number above 0, not {number!r}.")

    @property
    def _document_mb(self) -> float:
        default = DOCUMENT_MB if self.rows == "documents" else CHUNKED_DOCUMENT_MB
        return default if self.max_document_mb is None else self.max_document_mb

    @property
    def ends_unmarked(self) -> bool:
        """Whether a document without a last chunk ends with the highest number that is there."""
        return self.end == "highest"

    @property
    def document_bytes(self) -> int:
        """What the chunks of a document may weigh."""
        return int(self._document_mb * MB)

    @property
    def early_bytes(self) -> int:
        """What chunks that wait for others may weigh."""
        return int(self.max_early_mb * MB)
