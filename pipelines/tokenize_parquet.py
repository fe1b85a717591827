"""The main job: Parquet or text files in, Parquet files with exact token ids out.

    python -m pipelines.tokenize_parquet --config configs/quickstart.yaml

`python -m pipelines.tokenize_parquet --help` says what a configuration file and the flags may hold.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from beam_wordpiece.config import JobConfig, add_flags, flag_values, load_config
from beam_wordpiece.errors import AutomatonError, ConfigError, VocabularyError, WordPieceError
from pipelines import driver

if TYPE_CHECKING:
    from beam_wordpiece.io import FileTask

PROGRAM = "tokenize_parquet"
# Exit codes: what was asked cannot be (as argparse has it); some files could not be tokenized; interrupted.
MISUSED, FAILED, INTERRUPTED = 2, 1, 130

DESCRIPTION = """\
Tokenize a text column of Parquet files, or text files, with WordPiece, exactly as HuggingFace tokenizers does.

Each input becomes one output of the same name, with the token ids in the column input_ids (list<int32>) instead of the
text, and every other column as it was. An output appears whole or not at all; a job that was stopped goes on where it
was when the same command is given again.

Documents may come in pieces, cut anywhere, and have the ids of the whole:
  rows of Parquet   --document-column names their document; they stand one after the other, and --chunk-column checks it
  text files        .txt and .text, also .gz and .zst, of any size; --documents says whether a document is a line, the
                    whole file, or what a --separator ends. In a.txt.gz, out a.txt.gz.parquet, with the columns
                    document (its number in the file) and input_ids
With --rows chunks the output has a row for each piece, in which are the ids that were certain with it.
"""

EXAMPLES = """\
examples:
  all that a file says:
    python -m pipelines.tokenize_parquet --config configs/quickstart.yaml
  without a file, keeping only the ids of the documents beside the tokens:
    python -m pipelines.tokenize_parquet --input 'corpus/**/*.parquet' --output tokenized \\
        --tokenizer tests/data/tokenizer.json --text-column body --id-column doc_id --columns
  pages of books, a row for each page:
    python -m pipelines.tokenize_parquet --input 'scans/*.parquet' --output tokenized \\
        --tokenizer vocab.txt --document-column book --chunk-column page --rows chunks
  text files, with a blank line after each document:
    python -m pipelines.tokenize_parquet --input 'texts/*.txt.zst' --output tokenized \\
        --tokenizer vocab.txt --documents separator --separator '\\n\\n'
  on all cores of this machine (Beam's flags are passed on to Beam):
    python -m pipelines.tokenize_parquet --config configs/corpus.yaml \\
        --direct_running_mode=multi_processing --direct_num_workers=0
  on a cluster:
    python -m pipelines.tokenize_parquet --config configs/corpus.yaml --runner=FlinkRunner --flink_master=HOST:8081

Without --runner the job runs here. Exit code 0: all files are done; 1: inputs are missing or could not be tokenized,
and each is named; 2: the command or its configuration is wrong.
"""


def main(argv: list[str] | None = None) -> int:
    """Run the job that the command line (default: that of the process) describes, and give its exit code."""
    try:
        config, beam_flags, arguments = parse(sys.argv[1:] if argv is None else argv)
        with driver.quiet_logging(arguments.verbose):
            run(config, beam_flags, arguments.progress)
    except ConfigError as error:
        return _fail(error, MISUSED)
    except (WordPieceError, OSError) as error:
        return _fail(error, FAILED)
    except KeyboardInterrupt:
        return _fail("interrupted; the files that are done stay, and the same command goes on from there", INTERRUPTED)
    return 0


def parse(argv: list[str]) -> tuple[JobConfig, list[str], argparse.Namespace]:
    """The job, Beam's own flags, and what concerns this command only. Raises ConfigError."""
    parser = argparse.ArgumentParser(
        usage="python -m pipelines.tokenize_parquet [--config FILE] [flags]",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--config", metavar="FILE", help="a YAML file with the values below; flags win over it")
    parser.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        default=sys.stderr.isatty(),
        help="a progress bar, for jobs in this process (default: on a terminal)",
    )
    parser.add_argument("--verbose", action="store_true", help="show all that Beam logs")
    add_flags(parser)
    arguments, beam_flags = parser.parse_known_args(driver.with_hyphens(argv, parser))
    config = load_config(arguments.config, flag_values(arguments))
    return config, [*config.beam, *beam_flags], arguments


def run(config: JobConfig, beam_flags: list[str], progress: bool) -> None:
    """Plan the files, hand out the tokenizer, run the pipeline, and print what was counted.

    Raises ConfigError before anything is written; InputError where files could not be tokenized.
    """
    # Beam takes seconds to import, and neither --help nor a mistake in the flags should wait for it.
    with driver.no_garbage_collection():
        import apache_beam as beam

        from beam_wordpiece.io import plan_tasks, prepare_automaton

    options = driver.beam_options(beam_flags)
    try:
        pipeline = beam.Pipeline(runner=driver.runner_name(options), options=options)
    except ValueError as error:
        raise ConfigError(f"Beam cannot make the pipeline: {' '.join(str(error).split())}") from error
    tasks = plan_tasks(config.input, config.output, config.format)
    try:
        automaton = prepare_automaton(config.tokenizer, config.options, config.output)
    except (VocabularyError, AutomatonError) as error:
        # What was asked for cannot be, whatever the files are.
        raise ConfigError(str(error)) from error
    with driver.errors_folder(options) as folder:
        build(pipeline, tasks, automaton, config, folder, spread=not driver.has_one_worker(options))
        driver.run(pipeline, tasks, progress, folder)


def build(
    pipeline: Any,
    tasks: list[FileTask],
    automaton: str,
    config: JobConfig,
    errors: str | None = None,
    *,
    spread: bool = True,
) -> Any:
    """The pipeline: a PCollection with a `FileResult` for each file.

    `errors`: the folder to which workers write what is wrong with files; without one a worker raises it at the end.
    `spread`: whether there are several workers to spread the files over.
    """
    import apache_beam as beam

    from beam_wordpiece.transforms import TokenizeFiles, write_error

    tokenize = TokenizeFiles(automaton, config, raise_errors=errors is None, spread=spread)
    # TokenizeFiles spreads them over the workers.
    results = pipeline | "Files" >> beam.Create(tasks, reshuffle=False) | "TokenizeFiles" >> tokenize
    if errors is not None:
        _ = results | "Write errors" >> beam.Map(write_error, errors)
    return results


def _fail(error: object, code: int) -> int:
    print(f"{PROGRAM}: {error}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
