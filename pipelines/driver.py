"""What the process that starts a pipeline does beside building it: flags, logging, progress, errors, the summary."""

from __future__ import annotations

import argparse
import contextlib
import gc
import logging
import re
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from beam_wordpiece import errors
from beam_wordpiece.config import did_you_mean
from beam_wordpiece.errors import ConfigError, InputError, VocabularyWarning, WordPieceError
from beam_wordpiece.settings import OPTIONS, SETTINGS

if TYPE_CHECKING:
    from apache_beam.options.pipeline_options import PipelineOptions

    from beam_wordpiece.io import FileTask

LOCAL_RUNNER = "FnApiRunner"
# Seconds between two looks at the counters of a local run.
REFRESH = 0.2
_SHOWN = ("documents", "nulls", "invalid", "tokens")

# How an exception of a worker looks in the text that a runner gives back: its type, its message, and the step.
_REMOTE_ERROR = re.compile(r"beam_wordpiece\.errors\.(\w+): (.*?)(?= \[while running '|\n\s*\n|\Z)", re.DOTALL)
_STEP = re.compile(r" \[while running '[^']*'\].*", re.DOTALL)


# Flags --------------------------------------------------------------------------------------------------------------


def with_hyphens(argv: Sequence[str], parser: argparse.ArgumentParser) -> list[str]:
    """The flags of this program with hyphens, also where they were spelled as Beam spells its own, with underscores."""
    own = set(parser._option_string_actions)
    spelled = []
    for argument in argv:
        name, equals, value = argument.partition("=")
        hyphenated = name.replace("_", "-")
        spelled.append(f"{hyphenated}{equals}{value}" if hyphenated in own else argument)
    return spelled


def beam_options(flags: Sequence[str]) -> PipelineOptions:
    """Beam's options. Raises ConfigError for a flag that is neither Beam's nor, in all likelihood, another runner's."""
    from apache_beam.options.pipeline_options import PipelineOptions

    for before, value in zip(("", *flags), flags, strict=False):
        if not value.startswith("-") and (not before.startswith("-") or "=" in before):
            raise ConfigError(f"{value!r} stands alone on the command line; which flag is it for?")
    options = PipelineOptions(list(flags))
    with _no_log_below(logging.ERROR):  # Beam tells that it passes over some flags; they are judged here
        known = options.get_all_options()
        given = options.get_all_options(retain_unknown_options=True)
    own = [setting.flag for setting in (*SETTINGS, *OPTIONS)]
    # Beam gives names with underscores, however they were typed.
    typed = {flag.replace("-", "_"): flag for flag in (flag.partition("=")[0] for flag in flags)}
    for name in sorted(set(given) - set(known)):
        flag = typed.get(f"__{name}", f"--{name}")
        hint = did_you_mean(flag.replace("_", "-"), own)
        # Runners outside of Python have flags of their own, which only they know.
        if hint or runner_name(options) == LOCAL_RUNNER:
            raise ConfigError(f"There is no flag {flag}{hint or '; --help shows those there are.'}")
    return options


def runner_name(options: PipelineOptions) -> str:
    """The runner asked for; Beam's embedded one where none was.

    Beam's DirectRunner would first look for a runner to download, and then do the same.
    """
    from apache_beam.options.pipeline_options import StandardOptions

    name: str | None = options.view_as(StandardOptions).runner
    return LOCAL_RUNNER if name is None or name.lower() == "directrunner" else name


def has_one_worker(options: PipelineOptions) -> bool:
    """Whether all is done by one worker, in this process or beside it."""
    from apache_beam.options.pipeline_options import DirectOptions

    workers: int = options.view_as(DirectOptions).direct_num_workers
    return runner_name(options) == LOCAL_RUNNER and workers == 1


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    """For imports: looking for garbage among a million objects that all stay takes an eighth of Beam's import.

    What is there at the end is never looked at again.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


# Running ------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def errors_folder(options: PipelineOptions) -> Iterator[str | None]:
    """A folder for what is wrong with files, where the workers are on this machine; otherwise None.

    An error that a worker raises comes with pages of tracebacks, which workers in processes of their own print
    themselves.
    """
    from apache_beam.options.pipeline_options import PortableOptions

    if runner_name(options) == LOCAL_RUNNER or options.view_as(PortableOptions).environment_type == "LOOPBACK":
        with tempfile.TemporaryDirectory(prefix="beam_wordpiece-") as folder:
            yield folder
    else:
        yield None


def run(pipeline: Any, tasks: Sequence[FileTask], progress: bool, errors_in: str | None = None) -> None:
    """Run to the end and print a summary on standard error; where files failed and others not, how many of each.

    Raises the WordPieceError that made a worker give up, or that of the files whose errors are in the folder
    `errors_in`.
    """
    from beam_wordpiece.transforms import read_errors

    start = time.monotonic()
    try:
        with _progress_bar(tasks) if progress else contextlib.nullcontext():
            result = pipeline.run()
            result.wait_until_finish()
    except Exception as error:
        if _is_interrupt(error):
            raise KeyboardInterrupt from error
        found = error_of(error)
        if found is None:
            raise
        raise found from error
    failed = None if errors_in is None else read_errors(errors_in)
    counted = counters(result)
    if failed is not None:
        # Counted are documents of files that failed, too.
        if counted.get("files") or counted.get("files_skipped"):
            print(f"{_files_line(counted)}, {counted.get('files_failed', 0):,} failed", file=sys.stderr)
        raise failed
    print(summary(counted, time.monotonic() - start), file=sys.stderr)


def counters(result: Any) -> dict[str, int]:
    """The counters of `beam_wordpiece.transforms` after a run, added up over all steps."""
    from apache_beam.metrics.metric import MetricsFilter

    from beam_wordpiece.transforms import NAMESPACE

    total: dict[str, int] = {}
    for counter in result.metrics().query(MetricsFilter().with_namespace(NAMESPACE))["counters"]:
        total[counter.key.metric.name] = total.get(counter.key.metric.name, 0) + (counter.result or 0)
    return total


def _files_line(counted: dict[str, int]) -> str:
    return f"{counted.get('files', 0):,} files written, {counted.get('files_skipped', 0):,} there already"


def summary(counted: dict[str, int], seconds: float) -> str:
    """A few lines for people. `seconds`: from start to end, so that MB/s is what the user waited for; of less than a
    second no rate is given, as most of that is spent on what is done once.
    """
    count = {name: f"{counted.get(name, 0):,}" for name in (*counted, *_SHOWN)}
    files = _files_line(counted)
    if not counted.get("documents"):
        return files
    megabytes = counted.get("bytes", 0) / 1e6
    unknown = 100 * counted.get("unknowns", 0) / max(1, counted.get("tokens", 0))
    return (
        f"{files}\n"
        f"{count['documents']} documents ({count['nulls']} null, {count['invalid']} not UTF-8), "
        f"{count['tokens']} tokens ({unknown:.2f} % unknown)\n"
        f"{megabytes:,.1f} MB of text read, tokenized and written in {seconds:,.1f} s"
        + (f": {megabytes / seconds:,.1f} MB/s" if seconds >= 1 else "")
    )


def error_of(error: BaseException) -> WordPieceError | OSError | None:
    """What went wrong in a worker, of an exception that a runner raised; None where it is no error of this package.

    In the same process Beam raises the exception again, with the step added to the message; elsewhere it gives the text
    of the whole traceback.
    """
    if isinstance(error, (WordPieceError, OSError)):
        return type(error)(_STEP.sub("", str(error))) if not isinstance(error, errors.TextError) else error
    found = _REMOTE_ERROR.findall(str(error))
    if not found:
        return None
    name, message = found[-1]
    kind = getattr(errors, name, InputError)
    return (kind if kind is not errors.TextError else InputError)(message.strip())


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether an exception came of Ctrl-C: where a worker is in this thread, Beam makes an error of that too."""
    return error is not None and (isinstance(error, KeyboardInterrupt) or _is_interrupt(error.__context__))


@contextlib.contextmanager
def _progress_bar(tasks: Sequence[FileTask]) -> Iterator[None]:
    """A bar over the bytes of the input files. It moves where the workers are threads of this process."""
    from tqdm import tqdm

    from beam_wordpiece.storage import version_of
    from beam_wordpiece.transforms import PROGRESS

    versions = [version_of(task.input) for task in tasks]
    total = sum(version.size for version in versions if version is not None)
    documents, size = PROGRESS.documents, PROGRESS.bytes
    done = threading.Event()

    with tqdm(total=total, unit="B", unit_scale=True, desc="tokenizing", file=sys.stderr) as bar:

        def follow() -> None:
            while not done.wait(REFRESH):
                show()

        def show() -> None:
            bar.set_postfix_str(f"{PROGRESS.documents - documents:,} documents", refresh=False)
            bar.update(round(PROGRESS.bytes - size) - bar.n)

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            show()


# Logging ------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def quiet_logging(verbose: bool) -> Iterator[None]:
    """Log to standard error what concerns the user; `verbose`: all.

    Left out is what Beam says of services that are not installed, and its tracebacks of errors that this package raised
    on purpose, and of Ctrl-C: those end the program with one sentence.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    if not verbose:
        handler.addFilter(_concerns_user)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    if verbose:
        root.setLevel(logging.INFO)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", VocabularyWarning)
            warnings.showwarning = _show_warning
            yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"warning: {message}", file=sys.stderr)


def _concerns_user(record: logging.LogRecord) -> bool:
    message = record.getMessage()
    raised = record.exc_info[1] if record.exc_info else None
    ours = isinstance(raised, (WordPieceError, KeyboardInterrupt)) or "beam_wordpiece.errors." in f"{message} {raised}"
    return record.levelno >= logging.WARNING and not ours and not message.startswith("apitools not found")


@contextlib.contextmanager
def _no_log_below(level: int) -> Iterator[None]:
    before = logging.root.manager.disable
    logging.disable(level - 1)
    try:
        yield
    finally:
        logging.disable(before)
