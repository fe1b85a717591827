"""The settings of `TokenizeChunks`. No Beam in here."""

from __future__ import annotations

from dataclasses import dataclass

from beam_wordpiece.errors import ConfigError

MB = 1 << 20


@dataclass(frozen=True)
class ChunkSettings:
    """How chunks become rows. Fields and units: as the arguments of `TokenizeChunks`. Raises ConfigError."""

    rows: str = "documents"
    on_gap: str = "dead_letter"
    max_document_mb: int = 1024
    max_early_mb: int = 64
    gap_timeout: float = 600.0

    def __post_init__(self) -> None:
        for name, choices in (("rows", ("documents", "chunks")), ("on_gap", ("dead_letter", "emit"))):
            if getattr(self, name) not in choices:
                raise ConfigError(f"{name} has to be {' or '.join(choices)}, not {getattr(self, name)!r}.")
        for name in ("max_document_mb", "max_early_mb", "gap_timeout"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name} has to be more than 0, not {getattr(self, name)!r}.")
