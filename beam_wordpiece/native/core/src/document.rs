//! The document that is open: all that is carried from one part of it to the next.

use crate::added::Pass;
use crate::automaton::Tables;
use crate::error::Error;
use crate::exact::Exact;
use crate::normalizer::Position;
use crate::rows::Part;
use crate::stretch::Stretch;
use crate::utf8;

/// What is undecided of a document, and nothing more. It is as large as a word may be and the longest added token, but
/// for a run of marks where an added token has some.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// Some text has come, and the template's ids before it are out.
    pub begun: bool,
    /// Bytes of the text that are not decided yet: a character, an added token or the key of a rule that is cut off.
    pub held: Vec<u8>,
    /// Bytes of the text before those.
    pub before: u64,
    /// Where in the text the first pass is.
    pub position: Position,
    /// Normalized text in which added tokens are looked for.
    pub exact: Exact,
    /// The word that is open, normalized. All that the paper's machine knows of it follows from that: its node, and the
    /// pops that are held back because the word may still turn out to be unknown.
    pub word: Vec<u8>,
    /// Where text is not split into words: what is known of the stretch that `word` is the undecided end of.
    pub stretch: Stretch,
}

impl Document {
    /// One whose ids come with their offsets.
    pub fn with_offsets() -> Document {
        Document { exact: Exact::with_origins(), ..Document::default() }
    }

    /// Whether its ids come with their offsets.
    #[inline(always)]
    pub fn has_offsets(&self) -> bool {
        self.exact.origins.is_some()
    }

    /// At the beginning of another document.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.begun = false;
        self.held.clear();
        self.before = 0;
        self.position.restart();
        self.exact.restart();
        self.word.clear();
        // The stretch that is open may still be in the chunk, and ends there.
    }

    /// The text is done up to the position: the next part begins there.
    pub fn advance(&mut self, raw: &Pass, text: &[u8]) {
        let done = self.position.at;
        if let Some(token) = self.position.token.take() {
            self.position.search.put_back(token);
        }
        self.position.search.advance(raw, text, done);
        self.position.at = 0;
        self.before += done as u64;
    }

    /// Find where rows that go on with this document are not UTF-8; it is as it was before the first of them. The place
    /// is counted from the beginning of the document that has it, which may have begun long before the row.
    pub fn check<'t>(&self, parts: impl Iterator<Item = Part<'t>>) -> Result<(), Error> {
        let (_, cut_off) = self.held.split_at(self.held.len() - utf8::cut_off(&self.held));
        let mut before = self.before as usize + self.held.len() - cut_off.len();
        let mut cut_off = cut_off.to_vec();
        for (row, part) in parts.enumerate() {
            cut_off.extend_from_slice(part.text.unwrap_or_default());
            match std::str::from_utf8(&cut_off) {
                Err(fault) if part.ends || fault.error_len().is_some() => {
                    return Err(Error::InvalidText { row, position: before + fault.valid_up_to() });
                }
                _ => {}
            }
            let whole = cut_off.len() - utf8::cut_off(&cut_off);
            cut_off.drain(..whole);
            before = if part.ends { 0 } else { before + whole };
        }
        Ok(())
    }

    /// The part with U+FFFD for what is invalid in it, where it has some and an added token or the key of a rule may
    /// stand there.
    pub fn readable(&mut self, tables: &Tables<'_>, part: &[u8], ends: bool) -> Option<Vec<u8>> {
        if !tables.added.raw.has_replacement && !tables.rules.has_replacement {
            return None;
        }
        // A character that was cut off goes on in this part.
        let begun = self.held.len() - utf8::cut_off(&self.held);
        if begun == self.held.len() && std::str::from_utf8(part).is_ok() {
            return None;
        }
        let text = [&self.held.split_off(begun), part].concat();
        let whole = text.len() - if ends { 0 } else { utf8::cut_off(&text) };
        let replaced = String::from_utf8_lossy(&text[..whole]);
        if matches!(replaced, std::borrow::Cow::Owned(_)) {
            self.position.invalid.get_or_insert(0);
        }
        Some([replaced.as_bytes(), &text[whole..]].concat())
    }
}
