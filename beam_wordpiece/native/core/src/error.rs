//! What can go wrong, with messages made for the person who has to mend it.

use crate::whole::LONGEST;
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
    /// The text with this index has a character that begins no token where it stands, and that was asked to be an error.
    UnknownCharacter {
        /// Index of the text in the batch, from 0.
        row: usize,
        /// The character, after normalization.
        character: char,
    },
    /// The text with this index has a word or a stretch that is too long to be matched as a whole.
    LongText {
        /// Index of the text in the batch, from 0.
        row: usize,
    },
}

impl Error {
    /// What is wrong with a text and what to do, to be put behind words that name it, with the index of the text.
    pub fn fault_of_text(&self) -> Option<(String, usize)> {
        match self {
            Error::Vocabulary(_) | Error::Automaton(_) => None,
            Error::InvalidText { row, position } => Some((format!("is not valid UTF-8 at byte {position}"), *row)),
            Error::UnknownCharacter { row, character } => Some((
                format!(
                    "has the character {character:?} (U+{:04X}), which begins no token where it stands; add it to the \
                     vocabulary, or compile with another value for `unknown`",
                    u32::from(*character)
                ),
                *row,
            )),
            Error::LongText { row } => Some((
                format!(
                    "has a word or stretch of more than {} MB, which is too long to be matched as a whole; cut the text, \
                     or compile with backward=False and segmentation=\"greedy\"",
                    LONGEST >> 20
                ),
                *row,
            )),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Vocabulary(message) | Error::Automaton(message) => f.write_str(message),
            text => match text.fault_of_text() {
                Some((fault, row)) => write!(f, "row {row}: the text {fault}"),
                None => Ok(()),
            },
        }
    }
}

impl std::error::Error for Error {}
