"""The main job on real text, without a download: `python -m pipelines.quickstart`, from the root of the checkout.

Makes a few MB of Parquet out of the documentation that Python and the installed packages carry, tokenizes it with the
pipeline of `pipelines.tokenize_parquet`, and shows what came out, compared with HuggingFace `tokenizers` where that is
installed.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import beam_wordpiece as bw
from pipelines import local_text, tokenize_parquet

CONFIG = "configs/quickstart.yaml"
TOKENIZER = "tests/data/tokenizer.json"
FOLDER = Path("build/quickstart")
SHOWN_DOCUMENTS, SHOWN_TOKENS = 3, 24


def show(table: pa.Table) -> None:
    """Print the first tokens of a few documents from all over the table."""
    tokenizer = bw.Tokenizer(bw.Automaton.compile(TOKENIZER))
    step = max(1, table.num_rows // SHOWN_DOCUMENTS)
    for row in table.take(list(range(step // 2, table.num_rows, step))).to_pylist():
        tokens = tokenizer.encode(row["text"]).tokens
        more = f" ... {len(tokens) - SHOWN_TOKENS:,} more" if len(tokens) > SHOWN_TOKENS else ""
        print(f"\n{row['source']}: {row['text'][:80]!r}")
        print(f"  ids     {row['input_ids'][:SHOWN_TOKENS]}")
        print(f"  tokens  {' '.join(tokens[:SHOWN_TOKENS])}{more}")


def count_differences(table: pa.Table) -> int | None:
    """How many documents have other ids than HuggingFace gives them; None where `tokenizers` is not installed."""
    try:
        from tokenizers import Tokenizer
    except ModuleNotFoundError:
        return None
    expected = Tokenizer.from_file(TOKENIZER).encode_batch_fast(table["text"].to_pylist())
    return sum(encoding.ids != ids for encoding, ids in zip(expected, table["input_ids"].to_pylist(), strict=True))


def further_flags(argv: Sequence[str] | None) -> list[str]:
    """Those for the job. Ends the program for --help."""
    parser = argparse.ArgumentParser(
        "python -m pipelines.quickstart",
        usage="%(prog)s [flags of python -m pipelines.tokenize_parquet]",
        description=(__doc__ or "").partition("\n\n")[2],
        epilog=f"It writes below {FOLDER}, and reads {CONFIG} and {TOKENIZER}.",
        allow_abbrev=False,
    )
    return parser.parse_known_args(argv)[1]


def main(argv: Sequence[str] | None = None) -> int:
    """Make the input, run the job, show its output. `argv`: further flags for the job. Returns the exit code."""
    flags = further_flags(argv)
    missing = [path for path in (CONFIG, TOKENIZER) if not os.path.exists(path)]
    if missing:
        print(f"quickstart: there is no {missing[0]} here; run it from the root of the checkout.", file=sys.stderr)
        return tokenize_parquet.MISUSED
    source, output = FOLDER / "input", FOLDER / "output"
    print(f"This tokenizes the documentation that Python carries from {source} to {output}.", flush=True)
    if not source.exists():
        print(f"Writing {source}, a few MB of Parquet ...", flush=True)
        local_text.write_parquet(source)
    print("Loading Apache Beam and running the job of pipelines/tokenize_parquet.py ...", flush=True)
    files = ["--tokenizer", TOKENIZER, "--input", str(source / "*.parquet"), "--output", str(output)]
    code = tokenize_parquet.main(["--config", CONFIG, *files, *flags])
    if code:
        return code
    table = pa.concat_tables(pq.read_table(output / path.name) for path in sorted(source.glob("*.parquet")))
    show(table)
    documents, tokens = table.num_rows, pc.sum(pc.list_value_length(table["input_ids"])).as_py()
    print(f"\n{documents:,} documents, {tokens:,} tokens in {output}.")
    different = count_differences(table)
    if different is None:
        print(f"With `{sys.executable} -m pip install tokenizers` this would compare all ids with HuggingFace's.")
    else:
        print(f"Compared with HuggingFace tokenizers: {different:,} of {documents:,} documents have other ids.")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
