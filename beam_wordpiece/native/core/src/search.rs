//! Where strings stand in a text, added tokens and the keys of rules: the leftmost, of those the longest, and on from its
//! end.
//!
//! A search for the leftmost and longest reads on behind a token that is found, as far as a longer one may still come of
//! it, and then all of that again: where one token is `a` and another a thousand of them, a thousand times. Where tokens
//! are long, stretches of the text are therefore read from their end, against tokens that are turned round: each place
//! then knows the longest token that begins there, and every byte is looked at twice at most.

use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{AhoCorasick, Anchored, Input, MatchKind};
use std::ops::Range;

/// Bytes of the longest content up to which a byte may be looked at again and again.
pub const SHORT: usize = 64;
/// Bytes of a text that are read backwards at once, at least.
const STRETCH: usize = 4096;

/// Where the content of a token stands in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    /// Number of what was found.
    pub number: usize,
    /// First byte of the content.
    pub start: usize,
    /// End of the content: the search goes on here.
    pub end: usize,
}

/// Strings that are looked for.
#[derive(Debug)]
pub struct Needles {
    finder: Finder,
    /// The strings in order.
    sorted: Vec<Vec<u8>>,
    first_bytes: [bool; 256],
    /// Which bytes stand behind the first one of some string: all where one has no second byte.
    second_bytes: [bool; 256],
    /// Bytes of the longest, 0 where there is none.
    pub longest: usize,
}

impl Needles {
    /// Look for these, which are not empty.
    pub fn new(strings: Vec<Vec<u8>>) -> Result<Needles, aho_corasick::BuildError> {
        let (mut first_bytes, mut second_bytes) = ([false; 256], [false; 256]);
        for string in &strings {
            first_bytes[usize::from(string[0])] = true;
            match string.get(1) {
                Some(&byte) => second_bytes[usize::from(byte)] = true,
                None => second_bytes.fill(true),
            }
        }
        let finder = Finder::new(&strings)?;
        let longest = strings.iter().map(Vec::len).max().unwrap_or_default();
        let mut sorted = strings;
        sorted.sort();
        Ok(Needles { finder, sorted, first_bytes, second_bytes, longest })
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// Whether one of them begins with this byte.
    pub fn begin_with(&self, byte: u8) -> bool {
        self.first_bytes[usize::from(byte)]
    }

    /// Whether one of them may begin where this byte stands second.
    #[inline(always)]
    pub fn go_on_with(&self, byte: u8) -> bool {
        self.second_bytes[usize::from(byte)]
    }

    /// The leftmost in a range of a text, of those the longest.
    pub fn find(&self, text: &[u8], range: Range<usize>) -> Option<Hit> {
        match &self.finder {
            Finder::Forwards(finder) => find(finder, text, range),
            Finder::Nothing => None,
            Finder::Backwards(..) => Hits::default().next(self, &text[..range.end], range.start),
        }
    }

    /// Where one begins that the end of the text cuts off, the first of them from `from` on.
    pub fn cut_off(&self, text: &[u8], from: usize) -> Option<usize> {
        let from = from.max((text.len() + 1).saturating_sub(self.longest));
        (from..text.len()).find(|&at| {
            let rest = &text[at..];
            // Those that begin with the rest stand behind it, next to each other.
            let place = self.sorted.partition_point(|string| string.as_slice() <= rest);
            self.begin_with(rest[0]) && self.sorted.get(place).is_some_and(|string| string.starts_with(rest))
        })
    }
}

/// How they are looked for.
#[derive(Debug)]
enum Finder {
    /// There is nothing.
    Nothing,
    /// Short contents.
    Forwards(AhoCorasick),
    /// The contents turned round, and the length of the longest.
    Backwards(Box<NFA>, usize),
}

impl Finder {
    fn new(patterns: &[Vec<u8>]) -> Result<Finder, aho_corasick::BuildError> {
        let longest = patterns.iter().map(Vec::len).max().unwrap_or_default();
        Ok(match longest {
            0 => Finder::Nothing,
            1..=SHORT => {
                Finder::Forwards(AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(patterns)?)
            }
            _ => {
                let turned = patterns.iter().map(|pattern| pattern.iter().rev().copied().collect::<Vec<u8>>());
                Finder::Backwards(Box::new(NFA::new(turned)?), longest)
            }
        })
    }
}

fn find(finder: &AhoCorasick, text: &[u8], range: Range<usize>) -> Option<Hit> {
    let found = finder.find(Input::new(text).range(range))?;
    Some(Hit { number: found.pattern().as_usize(), start: found.start(), end: found.end() })
}

/// The contents in one text, one after the other.
#[derive(Debug, Clone, Default)]
pub struct Hits {
    /// What was found and lies ahead, the first of it last; read forwards it is one hit.
    ahead: Vec<Hit>,
    /// Those that begin before this byte are known.
    known: usize,
}

impl Hits {
    /// Begin with another text.
    pub fn restart(&mut self) {
        self.ahead.clear();
        self.known = 0;
    }

    /// The leftmost content at or after this place, of those the longest. The place is not before one asked for earlier.
    pub fn next(&mut self, needles: &Needles, text: &[u8], from: usize) -> Option<Hit> {
        loop {
            while let Some(hit) = self.ahead.pop() {
                if hit.start >= from {
                    self.ahead.push(hit);
                    return Some(hit);
                }
            }
            let from = from.max(self.known);
            if from >= text.len() {
                return None;
            }
            self.known = match &needles.finder {
                Finder::Nothing => text.len(),
                Finder::Forwards(finder) => {
                    let found = find(finder, text, from..text.len());
                    self.ahead.extend(found);
                    found.map_or(text.len(), |found| found.start + 1)
                }
                Finder::Backwards(turned, longest) => {
                    let end = text.len().min(from + STRETCH.max(*longest));
                    self.read_backwards(turned, &text[..text.len().min(end + longest - 1)], from, end);
                    end
                }
            };
        }
    }

    /// Find the longest content at each place from `from` to `end` where one begins; it ends inside the text.
    fn read_backwards(&mut self, turned: &NFA, text: &[u8], from: usize, end: usize) {
        let Ok(mut state) = turned.start_state(Anchored::No) else { return };
        for start in (from..text.len()).rev() {
            state = turned.next_state(Anchored::No, state, text[start]);
            if turned.is_match(state) && start < end {
                // Of the contents that begin here the state names the longest first.
                let pattern = turned.match_pattern(state, 0);
                self.ahead.push(Hit { number: pattern.as_usize(), start, end: start + turned.pattern_len(pattern) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(needles: &Needles, text: &[u8]) -> Vec<Hit> {
        let (mut hits, mut found) = (Hits::default(), Vec::<Hit>::new());
        while let Some(hit) = hits.next(needles, text, found.last().map_or(0, |hit| hit.end)) {
            found.push(hit);
        }
        found
    }

    proptest! {
        #[test]
        fn both_directions_find_the_same(
            patterns in prop::collection::hash_set("[ab]{1,4}|a{1,9}|(ab){1,6}", 1..6),
            text in "[abc]{0,60}|(a{0,9}b){0,9}",
        ) {
            let mut patterns: Vec<Vec<u8>> = patterns.into_iter().map(String::into_bytes).collect();
            let forwards = all(&Needles::new(patterns.clone()).unwrap(), text.as_bytes());
            patterns.push(vec![b'z'; SHORT + 1]);
            let backwards = Needles::new(patterns).unwrap();
            prop_assert!(matches!(backwards.finder, Finder::Backwards(..)));
            prop_assert_eq!(all(&backwards, text.as_bytes()), forwards);
        }
    }

    #[test]
    fn tokens_lie_across_stretches() {
        let patterns = [b"a".to_vec(), b"a".repeat(3 * STRETCH), b"ba".to_vec()];
        let finder = Needles::new(patterns.to_vec()).unwrap();
        let text = [b"c".repeat(STRETCH - 1), b"ba".to_vec(), b"a".repeat(3 * STRETCH + 2)].concat();
        let places: Vec<_> = all(&finder, &text).iter().map(|hit| (hit.number, hit.start, hit.end)).collect();
        let (at, end) = (STRETCH + 1, 4 * STRETCH + 1);
        assert_eq!(places, [(2, STRETCH - 1, at), (1, at, end), (0, end, end + 1), (0, end + 1, end + 2)]);
    }
}
