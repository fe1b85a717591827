//! Profiles: whose idea of spaces, punctuation, lower case and so on an automaton has.
//!
//! The tables are data, measured once and frozen: several ages of Unicode are at work in what they reproduce, so no
//! Unicode library of one version could give the same answers.

mod hf_tables;

use crate::options::Profile;

/// A set of code points: sorted, disjoint, inclusive ranges.
#[derive(Debug, Clone, Copy)]
pub struct Ranges(pub &'static [(u32, u32)]);

impl Ranges {
    /// Whether the set holds this code point.
    pub fn contains(self, c: u32) -> bool {
        let next = self.0.partition_point(|&(first, _)| first <= c);
        next > 0 && self.0[next - 1].1 >= c
    }
}

impl Ranges {
    fn meets(self, first: u32, last: u32) -> bool {
        let next = self.0.partition_point(|&(start, _)| start <= last);
        next > 0 && self.0[next - 1].1 >= first
    }
}

/// A mapping from code points to strings of code points, sorted; what it does not name maps to itself.
#[derive(Debug, Clone, Copy)]
pub struct Mapping(pub &'static [(u32, &'static [u32])]);

impl Mapping {
    fn meets(self, first: u32, last: u32) -> bool {
        let next = self.0.partition_point(|&(from, _)| from <= last);
        next > 0 && self.0[next - 1].0 >= first
    }

    fn of(self, c: &u32) -> &[u32] {
        match self.0.binary_search_by_key(c, |&(from, _)| from) {
            Ok(found) => self.0[found].1,
            Err(_) => std::slice::from_ref(c),
        }
    }
}

/// The tables of one profile.
#[derive(Debug)]
pub struct Tables {
    /// What clean_text drops.
    pub clean_deleted: Ranges,
    /// What clean_text turns into a space.
    pub clean_to_space: Ranges,
    /// Ideographs that get spaces around them.
    pub cjk: Ranges,
    /// What strip_accents drops after decomposition.
    pub nonspacing_mark: Ranges,
    /// What the word splitter splits at and drops.
    pub whitespace: Ranges,
    /// What the word splitter makes a word of its own.
    pub punctuation: Ranges,
    /// What a `single_word` added token must not touch.
    pub word_character: Ranges,
    /// What `lstrip` and `rstrip` of an added token take.
    pub space_character: Ranges,
    decomposition: Mapping,
    lowercase: Mapping,
    combining_class: &'static [(u32, u32, u8)],
}

impl Tables {
    /// The tables of a profile.
    pub fn of(profile: Profile) -> &'static Tables {
        match profile {
            Profile::Hf => &HF,
        }
    }

    /// Whether normalization or word splitting knows anything of the code points from first to last: otherwise they are
    /// parts of words and stay as they are.
    pub fn touch(&self, first: u32, last: u32) -> bool {
        let classes = self.combining_class.iter().any(|&(start, end, _)| start <= last && end >= first);
        let sets = [self.clean_deleted, self.clean_to_space, self.cjk, self.nonspacing_mark, self.whitespace];
        sets.iter().chain([&self.punctuation]).any(|set| set.meets(first, last))
            || self.decomposition.meets(first, last)
            || self.lowercase.meets(first, last)
            || classes
    }

    /// Full canonical decomposition; Hangul syllables are not decomposed.
    pub fn decompose<'a>(&self, c: &'a u32) -> &'a [u32] {
        self.decomposition.of(c)
    }

    /// Lower case of one character, without context.
    pub fn lowercase<'a>(&self, c: &'a u32) -> &'a [u32] {
        self.lowercase.of(c)
    }

    /// Canonical combining class; 0 for a starter.
    pub fn combining_class(&self, c: u32) -> u8 {
        let next = self.combining_class.partition_point(|&(first, _, _)| first <= c);
        match next.checked_sub(1).map(|i| self.combining_class[i]) {
            Some((_, last, class)) if last >= c => class,
            _ => 0,
        }
    }
}

static HF: Tables = Tables {
    clean_deleted: Ranges(hf_tables::CLEAN_DELETED),
    clean_to_space: Ranges(hf_tables::CLEAN_TO_SPACE),
    cjk: Ranges(hf_tables::CJK),
    nonspacing_mark: Ranges(hf_tables::NONSPACING_MARK),
    whitespace: Ranges(hf_tables::WHITESPACE),
    punctuation: Ranges(hf_tables::PUNCTUATION),
    word_character: Ranges(hf_tables::WORD_CHARACTER),
    space_character: Ranges(hf_tables::SPACE_CHARACTER),
    decomposition: Mapping(hf_tables::DECOMPOSITION),
    lowercase: Mapping(hf_tables::LOWERCASE),
    combining_class: hf_tables::COMBINING_CLASS,
};
