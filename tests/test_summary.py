"""What a job says at its end."""

from __future__ import annotations

import pytest

from pipelines.driver import summary


@pytest.mark.parametrize(("seconds", "line"), [(0.5, "in 0.5 s"), (2.0, "in 2.0 s: 15.0 MB/s")])
def test_a_rate_is_given_where_a_job_takes_a_second(seconds: float, line: str) -> None:
    counted = {"files": 1, "documents": 2, "tokens": 8, "unknowns": 1, "bytes": 30_000_000}
    said = summary(counted, seconds).splitlines()
    assert said == [
        "1 files written, 0 there already",
        "2 documents (0 null, 0 not UTF-8), 8 tokens (12.50 % unknown)",
        f"30.0 MB of text read, tokenized and written {line}",
    ]
