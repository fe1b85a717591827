//! What goes into the encoder, and what comes out.

use crate::offsets::Offsets;
use crate::simd::Level;

/// How texts are encoded.
#[derive(Debug, Clone, Copy)]
pub struct EncodeOptions {
    /// Put the template's tokens around every text.
    pub add_special_tokens: bool,
    /// Invalid UTF-8 is an error; otherwise each invalid part is read as U+FFFD.
    pub strict: bool,
    /// The vector instructions to use.
    pub level: Level,
}

/// Ids of many rows.
#[derive(Debug, Default)]
pub struct Encoded {
    /// Ids of all rows, one after the other.
    pub ids: Vec<u32>,
    /// End of the ids of each row.
    pub ends: Vec<u64>,
    /// How many of the ids are that of the unknown token.
    pub unknowns: usize,
    /// Documents that have ended in which invalid UTF-8 was replaced.
    pub invalid: usize,
    /// Documents that have ended without any text, not even an empty one.
    pub nulls: usize,
    /// Where in its document each id stands, of documents for which that is wanted.
    pub offsets: Offsets,
}

/// A row: a whole document, or a part of one.
#[derive(Debug, Clone, Copy)]
pub struct Part<'t> {
    /// Its text; None adds nothing. A document of such parts only is not there and has no ids, not even those of the
    /// template.
    pub text: Option<&'t [u8]>,
    /// The document ends with it.
    pub ends: bool,
}
