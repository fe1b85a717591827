//! WordPiece as a linear-time automaton: "Fast WordPiece Tokenization" (Song et al., EMNLP 2021), end to end.
//!
//! A [`options::Vocabulary`] is [compiled](compile::compile) to bytes, which an [`automaton::Automaton`] is opened from;
//! [`encoder::encode`] runs it over texts. Nothing here knows of Python or Arrow.
//!
//! Where to find what: `options` and `profile` say what a vocabulary is compiled for; `code_points` what becomes of
//! each character; `trie`, `failure`, `double_array` and `word_table` are what it is compiled to, `format` and
//! `automaton` (with `validate`) the file; `normalizer` (with `blocks`, `wide`, `added`, `exact`), `lookup`, `walk` (with `lanes`) and `encoder` are the four
//! passes over a `chunk` of text.

pub mod added;
pub mod automaton;
pub mod blocks;
pub mod chunk;
pub mod code_points;
pub mod compile;
pub mod double_array;
pub mod encoder;
pub mod error;
pub mod exact;
pub mod failure;
pub mod format;
pub mod lanes;
pub mod lookup;
pub mod normalizer;
pub mod options;
pub mod profile;
pub mod simd;
pub mod trie;
pub mod utf8;
pub mod validate;
pub mod walk;
pub mod wide;
pub mod word_table;
