"""The main job on an Apache Flink that runs inside of a Beam job server: real portability, with Java."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from pipelines import tokenize_parquet
from tests import corpus

VARIABLE = "BEAM_WORDPIECE_FLINK_JAR"
ARTIFACT = "org.apache.beam:beam-runners-flink-1.19-job-server:VERSION"
# What Flink reaches into, and Java from 17 on keeps shut.
OPENED = ("java.base/java.lang", "java.base/java.nio", "java.base/java.util")


def job_server() -> str | None:
    """The jar that the environment names, or one that Maven has fetched."""
    named = os.environ.get(VARIABLE)
    if named:
        return named
    repository = Path.home() / ".m2/repository/org/apache/beam"
    found = sorted(repository.glob("beam-runners-flink-*-job-server/*/beam-runners-flink-*-job-server-*.jar"))
    return str(found[-1]) if found else None


@pytest.mark.timeout(300)
def test_flink_gives_the_same_bytes(tmp_path: Path, tokenizer_json: Path, capfd: pytest.CaptureFixture[str]) -> None:
    jar = job_server()
    if jar is None:
        pytest.skip(
            "needs the jar of Beam's Flink job server: `mvn dependency:get -Dtransitive=false "
            f"-Dartifact={ARTIFACT}` with the version of Beam, or {VARIABLE}=JAR"
        )
    if shutil.which("java") is None:
        pytest.skip("needs java, to run the job server")
    corpus.write(tmp_path / "in", {"a.parquet": 100, "b.parquet": 30})
    job = ["--input", str(tmp_path / "in/*.parquet"), "--tokenizer", str(tokenizer_json), "--output"]
    assert tokenize_parquet.main([*job, str(tmp_path / "here")]) == 0
    flink = [
        *("--runner=FlinkRunner", "--flink_master=[local]", f"--flink_job_server_jar={jar}", "--parallelism=2"),
        *("--environment_type=LOOPBACK", f"--artifacts_dir={tmp_path / 'artifacts'}"),
        *(f"--job_server_jvm_properties=--add-opens={package}=ALL-UNNAMED" for package in OPENED),
    ]
    capfd.readouterr()
    assert tokenize_parquet.main([*job, str(tmp_path / "flink"), *flink]) == 0
    assert re.search(r"^2 files written, 0 there already\n130 documents ", capfd.readouterr().err, re.MULTILINE)
    assert corpus.files(tmp_path / "flink") == corpus.files(tmp_path / "here")

    (tmp_path / "in/b.parquet").write_bytes(b"no parquet file")
    assert tokenize_parquet.main([*job, str(tmp_path / "flink"), *flink]) == 1
    last = capfd.readouterr().err.rstrip("\n").split("\n")[-1]
    assert re.fullmatch(r"tokenize_parquet: \S+/in/b\.parquet is not a Parquet file: .*", last)
