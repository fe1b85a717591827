//! What can go wrong, with messages made for the person who has to mend it.

use std::fmt;

/// An error of this crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The vocabulary or its options cannot be compiled.
    Vocabulary(String),
    /// The bytes are not an automaton that this version can run.
    Automaton(String),
    /// The text with this index is not valid UTF-8, and that was asked to be an error.
    InvalidText {
        /// Index of the text in the batch, from 0.
        row: usize,
        /// Byte position of the first invalid byte in the text.
        position: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Vocabulary(message) | Error::Automaton(message) => f.write_str(message),
            Error::InvalidText { row, position } => {
                write!(f, "row {row}: the text is not valid UTF-8 at byte {position}")
            }
        }
    }
}

impl std::error::Error for Error {}
