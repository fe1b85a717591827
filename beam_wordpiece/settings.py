"""The values of a job, one table: the name of each, its kind, and its help. `config.py` reads and checks them."""

from __future__ import annotations

from dataclasses import dataclass

# What can be done about text that is not UTF-8, and about a vocab.txt that probably means something else.
ERRORS = ("replace", "error")
DOUBTFUL_LINES = ("error", "warn")
# What is unknown where no token is found, and what stands for it.
UNKNOWN = ("word", "character", "run", "byte", "error")
# Which of the ways to split a word or a stretch of text is taken.
SEGMENTATIONS = ("greedy", "fewest")
# How an automaton is laid out.
LAYOUTS = ("failure_links", "transducer")


@dataclass(frozen=True)
class Setting:
    """One value of a job.

    `kind` is one of "text", "texts" (one text or a list of them), "boolean", "number" (whole, from `least` up) and
    "mapping" (of texts to texts; as a flag the path of a JSON file).
    `choices` are the texts allowed, all when empty. `nullable`: may be null, in the file and as a flag. `escapes`: as a
    flag the text has escapes, as YAML has them in a file.
    """

    name: str
    kind: str
    help: str
    choices: tuple[str, ...] = ()
    nullable: bool = False
    least: int = 0
    escapes: bool = False

    @property
    def flag(self) -> str:
        """The flag of the command line."""
        return "--" + self.name.replace("_", "-")


SETTINGS = (
    Setting(
        "input",
        "texts",
        "the files to read, Parquet or text: paths or globs (*, ?, [..] within a name, ** for any folders); quote a "
        "glob",
    ),
    Setting(
        "output",
        "text",
        "the folder to write to; an output is named after its input, from the glob's fixed part on, and that of a text "
        "file ends in .parquet: a.txt.gz.parquet",
    ),
    Setting(
        "tokenizer",
        "text",
        "a vocab.txt, a tokenizer.json, a local folder with a tokenizer in it, or an automaton or a dictionary (.bwp) "
        "compiled earlier",
    ),
    Setting("text_column", "text", "the column to tokenize; a field of a struct is a.b (default: text)"),
    Setting(
        "id_column",
        "text",
        "the column that names a document: always passed through, and named in the message about a bad row",
        nullable=True,
    ),
    Setting(
        "columns",
        "texts",
        "the columns to pass through beside input_ids (default: every column but the text)",
        nullable=True,
    ),
    Setting("keep_text", "boolean", "pass the text through too, beside input_ids (default: false)"),
    Setting(
        "format",
        "text",
        "what the inputs are: 'auto' goes by the name, .txt and .text being text, also with .gz or .zst behind it, and "
        "all else Parquet (default); 'parquet' and 'text' say it of all",
        choices=("auto", "parquet", "text"),
    ),
    Setting(
        "document_column",
        "text",
        "the column that says which document a row of Parquet is a piece of: consecutive rows with the same value "
        "within one file are one document; a document that goes on in another file, or comes again, is another one: "
        "give --chunk-column, which refuses that, or use TokenizeChunks (README); always passed through (default: "
        "null, every row is a document)",
        nullable=True,
    ),
    Setting(
        "chunk_column",
        "text",
        "the column with the number of a piece, which has to count 0, 1, 2, ... within each document; a file where it "
        "does not, or with a document in two places, is refused",
        nullable=True,
    ),
    Setting(
        "documents",
        "text",
        "what a document of a text file is: a 'line' (default), what a 'separator' ends, or the whole 'file'",
        choices=("line", "separator", "file"),
    ),
    Setting(
        "separator",
        "text",
        r"the text that ends a document of a text file; as a flag with the escapes \n, \r, \t and \\, which a YAML "
        "file has in double quotes",
        nullable=True,
        escapes=True,
    ),
    Setting(
        "rows",
        "text",
        "a row of the output for each of the 'documents' (default), or for each of their 'chunks': a row of Parquet, a "
        "piece of up to 1 MB of a text file, with the ids that were certain with it",
        choices=("documents", "chunks"),
    ),
    Setting(
        "max_document_mb",
        "number",
        "with --rows documents: the largest text in MB of a document of a text file or of rows with a "
        "--document-column; a larger one is refused (default: 128, at most 1024)",
        least=1,
    ),
    Setting(
        "add_special_tokens", "boolean", "put what the tokenizer asks for around each document, such as [CLS] and [SEP]"
    ),
    Setting(
        "errors",
        "text",
        "text that is not UTF-8: 'replace' reads each bad part as U+FFFD (default), 'error' refuses the file",
        choices=ERRORS,
    ),
    Setting(
        "existing",
        "text",
        "an output that is there: 'resume' keeps it if the same would be written again (default), 'overwrite' "
        "writes all again, 'error' stops",
        choices=("resume", "overwrite", "error"),
    ),
    Setting(
        "encoding",
        "text",
        "the Parquet encoding of input_ids: 'byte_stream_split' is small and quick (default) and wants a reader such "
        "as pyarrow 16.1, DuckDB 2.0 or polars 1.20; 'dictionary' is for older ones and for Spark, 'plain' for any",
        choices=("byte_stream_split", "dictionary", "plain"),
    ),
    Setting(
        "compression",
        "text",
        "the Parquet compression (default: zstd)",
        choices=("zstd", "snappy", "gzip", "lz4", "brotli", "none"),
    ),
    Setting(
        "row_group_mb", "number", "how large a row group of the output may grow in memory, in MB (default: 32)", least=1
    ),
)

# HF's names. What they mean, and which values hold together, is checked where the vocabulary is read.
OPTIONS = (
    Setting("lowercase", "boolean", "lower-case the text"),
    Setting("strip_accents", "boolean", "remove accents; null does as lowercase says", nullable=True),
    Setting("clean_text", "boolean", "delete control characters and turn white space into spaces"),
    Setting("handle_chinese_chars", "boolean", "put spaces around CJK characters"),
    Setting("unk_token", "text", "the token of a word that cannot be split"),
    Setting("continuing_subword_prefix", "text", "what marks a token inside a word, such as ##"),
    Setting("max_input_chars_per_word", "number", "longer words, in characters, are the unknown token"),
    Setting("profile", "text", "whose behaviour is followed: hf"),
    Setting(
        "pretokenize",
        "boolean",
        "split text into words (default); false matches it as it stands, spaces included, and wants another --unknown",
    ),
    Setting(
        "unknown",
        "text",
        "what is the unknown token where no token is found: the 'word' (default), the 'character', a 'run' of such "
        "characters; 'byte' puts the tokens <0x00> to <0xFF> of the character in its place, 'error' refuses the text",
        choices=UNKNOWN,
    ),
    Setting(
        "rules",
        "mapping",
        "strings that stand in place of characters or short strings of the text before anything else is done with it, "
        'such as {"…": "..."}; as a flag the name of a JSON file with them',
    ),
    Setting(
        "backward",
        "boolean",
        "match from the end of each word or stretch: the longest suffix, again and again; wants another --unknown than "
        "word, and a vocabulary without continuation markers (##), if it is no dictionary",
    ),
    Setting(
        "segmentation",
        "text",
        "how a word or stretch is split: 'greedy', the longest token again and again (default), or into the 'fewest' "
        "tokens",
        choices=SEGMENTATIONS,
    ),
    Setting(
        "unknown_cost",
        "number",
        "with --segmentation fewest: as how many tokens an unknown character counts (default: 1000)",
        least=1,
    ),
    Setting("truncation", "boolean", "false leaves out the truncation that a tokenizer.json asks for"),
    Setting("padding", "boolean", "false leaves out the padding that a tokenizer.json asks for"),
    Setting(
        "doubtful_lines",
        "text",
        "a vocab.txt with blank or equal lines, white space at the end of a line, CRLF or a byte order mark: 'error' "
        "refuses it (default), 'warn' reads it as HuggingFace does",
        choices=DOUBTFUL_LINES,
    ),
)
