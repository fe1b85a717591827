//! The tokens of a vocabulary as they are stored, for decoding and for people.

/// The tokens of a vocabulary, in the order of their ids.
#[derive(Debug, Clone, Copy)]
pub struct TokenList<'a> {
    /// Text of all tokens, side by side.
    pub bytes: &'a [u8],
    /// Where each token begins, and the end of the last.
    pub offsets: &'a [u32],
    /// Their ids, in order, each once.
    pub ids: &'a [u32],
    /// Their numbers, in the order of their text.
    pub order: &'a [u32],
}

impl<'a> TokenList<'a> {
    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    fn at(&self, i: usize) -> &'a str {
        let bytes = &self.bytes[self.offsets[i] as usize..self.offsets[i + 1] as usize];
        std::str::from_utf8(bytes).expect("checked when the automaton was opened")
    }

    /// The token of an id.
    pub fn token(&self, id: u32) -> Option<&'a str> {
        self.ids.binary_search(&id).ok().map(|i| self.at(i))
    }

    /// The id of a token.
    pub fn id(&self, token: &str) -> Option<u32> {
        let found = self.order.binary_search_by(|&i| self.at(i as usize).cmp(token)).ok()?;
        Some(self.ids[self.order[found] as usize])
    }

    /// Check that every token lies in the text, and that the ids are in order and different.
    pub fn validate(&self) -> Result<(), String> {
        let list = self;
        let count = list.ids.len();
        let ordered = list.offsets.first() == Some(&0)
            && list.offsets.last().map(|&last| last as usize) == Some(list.bytes.len())
            && list.offsets.is_sorted()
            && list.ids.is_sorted_by(|a, b| a < b);
        if !ordered || list.offsets.len() != count + 1 || list.order.len() != count {
            return Err("the vocabulary has a wrong size".into());
        }
        if list.order.iter().any(|&i| i as usize >= count) {
            return Err("the order of the vocabulary names a token that it does not have".into());
        }
        let text = std::str::from_utf8(list.bytes).map_err(|_| "the vocabulary is not UTF-8")?;
        if list.offsets.iter().any(|&offset| !text.is_char_boundary(offset as usize)) {
            return Err("a token of the vocabulary is not UTF-8".into());
        }
        Ok(())
    }
}
