"""The kernel needs as many instructions a byte as was recorded: a slower matcher is noticed on any machine."""

from pathlib import Path

import pytest

from benchmarks import instructions


@pytest.fixture(scope="module")
def program() -> Path:
    """The kernel's example that is counted, built for speed."""
    try:
        instructions.require_tools()
    except instructions.CannotCountError as error:
        pytest.skip(str(error))
    return instructions.build()


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("level", instructions.LEVELS)
def test_instructions_per_byte(level: str, program: Path) -> None:
    try:
        figures = instructions.count(program, level)
    except instructions.CannotCountError as error:
        pytest.skip(str(error))
    different = instructions.differences(level, figures)
    assert not different, "\n".join(
        [
            *different,
            f"recorded with {instructions.recorded()['compiler']}, counted with {instructions.compiler()}",
            "where this is meant: python -m benchmarks.instructions --record",
        ]
    )


def test_a_figure_that_differs_is_reported() -> None:
    level = instructions.LEVELS[0]
    figures = dict(instructions.recorded()["instructions_per_byte"][level])
    assert instructions.differences(level, figures) == []
    kind = next(iter(figures))
    for factor in (0.8, 1.2):
        changed = {**figures, kind: figures[kind] * factor}
        (sentence,) = instructions.differences(level, changed)
        assert kind in sentence
    del figures[kind]
    assert len(instructions.differences(level, figures)) == 1
