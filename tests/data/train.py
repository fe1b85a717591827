"""Trains the small vocabulary of the tests and the quickstart: `python -m tests.data.train`, from the checkout's root.

Writes tokenizer.json beside this file: what HuggingFace `tokenizers` makes of the text of `pipelines.local_text`, with
the pipeline of an uncased BERT. The same installation gives the same file, byte for byte.
"""

import json
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from pipelines.local_text import documents

TARGET = Path(__file__).with_name("tokenizer.json")
SIZE = 8_000
SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def train(texts: list[str]) -> Tokenizer:
    """A tokenizer with SIZE tokens, trained on `texts`."""
    draft = bert(models.WordPiece(unk_token="[UNK]"))
    trainer = trainers.WordPieceTrainer(
        vocab_size=SIZE, special_tokens=[*SPECIAL_TOKENS, *continuing_characters(draft, texts)], show_progress=False
    )
    draft.train_from_iterator(texts, trainer)
    tokenizer = bert(draft.model)
    tokenizer.add_special_tokens(SPECIAL_TOKENS)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")],
    )
    return tokenizer


def bert(model: models.Model) -> Tokenizer:
    """An uncased BERT's pipeline around `model`."""
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def continuing_characters(tokenizer: Tokenizer, texts: list[str]) -> list[str]:
    """The piece `##c` for each character c that may stand inside a word of `texts`, in order.

    The trainer would number them in the order of a hash table with a random seed, and break ties by these numbers:
    every run would give another vocabulary. It keeps the numbers of tokens that it is given as special ones.
    """
    characters = sorted({c for text in texts for c in tokenizer.normalizer.normalize_str(text)})
    return ["##" + c for c in characters if len(tokenizer.pre_tokenizer.pre_tokenize_str("a" + c + "a")) == 1]


def main() -> None:
    tokenizer = train([text for _, _, text in documents()])
    # One token a line, so that a change of the vocabulary can be read in a diff.
    content = json.loads(tokenizer.to_str())
    content["model"]["vocab"] = dict(sorted(content["model"]["vocab"].items(), key=lambda entry: entry[1]))
    TARGET.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(f"{TARGET.name}: {tokenizer.get_vocab_size()} tokens")


if __name__ == "__main__":
    main()
