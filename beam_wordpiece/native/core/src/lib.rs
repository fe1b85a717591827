//! WordPiece as a linear-time automaton: "Fast WordPiece Tokenization" (Song et al., EMNLP 2021), end to end.
//!
//! A [`options::Vocabulary`] is [compiled](compile::compile) to bytes; an [`automaton::Automaton`] is opened from them;
//! [`encoder::encode`] runs it over texts. Nothing here knows of Python or Arrow.
//!
//! Where to find what:
//! - what a vocabulary is compiled for: `options`, `profile`; what becomes of each character: `code_points`, and before
//!   that of strings: `rules`
//! - what it is compiled to: `trie`, `failure`, `double_array` or `transducer` (see `layout`), `word_table` (with
//!   `several`, and `sample`, which fills it), put together by `compile`
//! - the file: `format`, and `automaton` with `tokens`, `added_records` and `validate`
//! - the four passes over a `chunk` of text: `normalizer` (with `blocks`, `byte_classes`, `wide`, `mixed`, `added`,
//!   `search`, `exact`), `lookup` (with `lookup_lanes`, `beginnings`), `pieces` (with `missed`, `missed_lanes`, `repeats`,
//!   `short_repeats`),
//!   `walk` (with `walk_lanes`, `walk_readers`, `walk_log`, `walk_rounds`, `starts`), `merge`; `flush` runs the last three
//!   for a chunk, `encoder` all of them
//! - words or all of a text as stretches (`matching`): `stretch`, one character after the other; in lanes `segments`; what
//!   becomes of unknown characters: `unknown`, `unknown_words`; what needs the end first: `whole` and `fewest`
//! - what goes in and comes out: `rows`; what is carried from one part of a document to the next: `document`, as bytes
//!   `state`; where in the text ids stand: `origins`, `align`, `offsets`
//! - where the keys of a dictionary stand in a text: `keywords`, `occurrences`
//! - how buffers grow: `room`; levels of vector instructions: `simd`

pub mod added;
pub mod added_records;
pub mod align;
pub mod automaton;
pub mod beginnings;
pub mod blocks;
pub mod byte_classes;
pub mod chunk;
pub mod code_points;
pub mod compile;
pub mod document;
pub mod double_array;
pub mod encoder;
pub mod error;
pub mod exact;
pub mod failure;
pub mod fewest;
pub mod flush;
pub mod format;
pub mod keywords;
pub mod layout;
pub mod lookup;
pub mod lookup_lanes;
pub mod matching;
pub mod merge;
pub mod missed;
pub mod missed_lanes;
pub mod mixed;
pub mod normalizer;
pub mod occurrences;
pub mod offsets;
pub mod options;
pub mod origins;
pub mod pieces;
pub mod profile;
pub mod repeats;
pub mod room;
pub mod rows;
pub mod rules;
pub mod sample;
pub mod search;
pub mod segments;
pub mod several;
pub mod short_repeats;
pub mod simd;
pub mod starts;
pub mod state;
pub mod stretch;
pub mod tokens;
pub mod transducer;
pub mod trie;
pub mod unknown;
pub mod unknown_words;
pub mod utf8;
pub mod validate;
pub mod walk;
pub mod walk_lanes;
pub mod walk_log;
pub mod walk_readers;
pub mod walk_rounds;
pub mod whole;
pub mod wide;
pub mod word_table;
