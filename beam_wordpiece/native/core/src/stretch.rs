//! Text that is not split into words, white space and all: the matching loop of the paper (Algorithm 1) over a stretch
//! of it, from one added token to the next, which may come in parts. Words are stretches too, where it is not the whole word
//! that is unknown.
//!
//! A token leaves as soon as nothing that may follow can make it longer. So what is undecided is the string of a node of
//! the trie that has children: the beginning of a longer token. It is walked again when the next part has come.

use crate::automaton::Tables;
use crate::chunk::Chunk;
use crate::double_array::{Packed, ROOT_UNIT, Unit};
use crate::failure::UNKNOWN_CHARACTER;
use crate::matching::Matching;
use crate::rows::Encoded;
use crate::trie::NONE;
use crate::unknown::{Fault, Run, Sink};
use crate::utf8;
use crate::walk::pop;
use crate::whole::{LONGEST, Whole};
use std::ops::Range;

/// Bytes of a Hangul syllable.
const SYLLABLE: usize = 3;

/// The stretch that is open, beside the undecided bytes of its normalized text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// Nothing of it is decided, so matching begins at `r`, otherwise at `r#`.
    pub at_root: bool,
    /// Jamo of the first undecided character, a Hangul syllable, that are decided: 0 to 2. Syllables stay whole in the
    /// text while the trie knows their jamo, and a token may end between these.
    pub jamo: u8,
    /// Unknown characters that are one token, which was the last to leave or is the next.
    pub run: Option<Run>,
}

impl Default for Stretch {
    fn default() -> Stretch {
        Stretch { at_root: true, jamo: 0, run: None }
    }
}

impl Stretch {
    /// Match a part of the stretch: `bytes[part]`, normalized text that begins with what was undecided before. `ended`:
    /// the stretch ends with it, and the next one begins.
    ///
    /// Every token that is decided is handed to `emit`: its id or [`UNKNOWN_CHARACTER`], where in `bytes` its characters
    /// are, and how many jamo of the first one stand before it. Tokens that share the jamo of a syllable have all of it.
    /// Gives what is undecided, the end of the part.
    #[inline(always)]
    pub fn run(
        &mut self,
        tables: &Tables<'_>,
        bytes: &[u8],
        part: Range<usize>,
        ended: bool,
        emit: impl FnMut(u32, Range<usize>, usize),
    ) -> Range<usize> {
        let (end, never) = (part.end, |_| false);
        self.run_until(tables, bytes, part, ended, never, emit).unwrap_or_else(|place| place..end)
    }

    /// The same until all is decided up to some place for which `meets` holds, and nothing behind it is read: then that
    /// is the error, and the stretch goes on from there.
    #[inline(always)]
    pub fn run_until(
        &mut self,
        tables: &Tables<'_>,
        bytes: &[u8],
        part: Range<usize>,
        ended: bool,
        mut meets: impl FnMut(usize) -> bool,
        emit: impl FnMut(u32, Range<usize>, usize),
    ) -> Result<Range<usize>, usize> {
        let mut machine = Machine::new(tables, bytes, *self, part.start, emit);
        while machine.at.byte < part.end {
            if machine.step(&mut meets) {
                *self = Stretch { at_root: false, jamo: 0, run: None };
                return Err(machine.at.byte);
            }
        }
        while machine.unit().failure != NONE && (ended || machine.unit().base == 0) {
            machine.fail();
        }
        let start = machine.start;
        let open = Stretch { at_root: machine.at_root, jamo: start.jamo as u8, run: None };
        *self = if ended { Stretch::default() } else { open };
        Ok(start.byte..part.end)
    }

    /// Match a part of the stretch in a chunk, and append the ids that are decided; gives what is not.
    pub fn run_part(
        &mut self,
        tables: &Tables<'_>,
        matching: &Matching,
        chunk: &Chunk,
        part: Range<usize>,
        ended: bool,
        out: &mut Encoded,
    ) -> Result<Range<usize>, Fault> {
        let mut sink = Sink::new(tables, chunk, matching.unknown, self.run.take(), out);
        let emit = |token, bytes, jamo| sink.token(token, bytes, jamo);
        let undecided = self.run(tables, &chunk.bytes, part, ended, emit);
        if ended {
            sink.end_word();
        }
        self.run = sink.run;
        sink.fault.map_or(Ok(undecided), Err)
    }

    /// Match the complete stretches of a chunk, and append their ids and those of the tokens that were found already.
    /// `text_ends` has the number of words before the end of each text. Gives what is undecided of the open stretch. After
    /// a fault, which is one of the text that has not ended, nothing here is of use.
    pub fn run_chunk(
        &mut self,
        tables: &Tables<'_>,
        matching: &Matching,
        chunk: &Chunk,
        text_ends: &[u32],
        whole: &mut Whole,
        out: &mut Encoded,
    ) -> Result<Option<Range<usize>>, Fault> {
        let mut sink = Sink::new(tables, chunk, matching.unknown, self.run.take(), out);
        let mut text_ends = text_ends.iter().peekable();
        for word in 0..=chunk.words() {
            while text_ends.next_if(|&&end| end as usize == word).is_some() {
                sink.end_row();
            }
            let Some((part, ended)) = chunk.word_or_open(word) else { break };
            if sink.found(&part) {
                continue;
            }
            let undecided = if matching.is_of_whole() {
                if part.len() > LONGEST {
                    return Err(Fault::TooLong);
                }
                if ended {
                    whole.run(tables, matching, &chunk.bytes, part.clone(), &mut sink);
                }
                part
            } else {
                self.run(
                    tables,
                    &chunk.bytes,
                    part,
                    ended,
                    #[inline(always)]
                    |token, bytes, jamo| sink.token(token, bytes, jamo),
                )
            };
            if let Some(fault) = sink.fault {
                return Err(fault);
            }
            if !ended {
                self.run = sink.run;
                return Ok(Some(undecided));
            }
            sink.end_word();
        }
        Ok(None)
    }
}

/// A place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// First byte of a character.
    byte: usize,
    /// Jamo of it that lie before the place, where it is a syllable that is split.
    jamo: usize,
}

/// The automaton while it runs over a stretch.
struct Machine<'a, E> {
    tables: &'a Tables<'a>,
    bytes: &'a [u8],
    split_hangul: bool,
    /// No token has left yet.
    at_root: bool,
    /// The string of the node lies between these places.
    start: Place,
    at: Place,
    node: u32,
    /// Where the children of the node are.
    base: u32,
    /// Pops of several tokens.
    popped: Vec<u32>,
    emit: E,
}

impl<'a, E: FnMut(u32, Range<usize>, usize)> Machine<'a, E> {
    #[inline(always)]
    fn new(tables: &'a Tables<'a>, bytes: &'a [u8], stretch: Stretch, start: usize, emit: E) -> Machine<'a, E> {
        let start = Place { byte: start, jamo: usize::from(stretch.jamo) };
        let mut machine = Machine {
            tables,
            bytes,
            split_hangul: tables.parameters.split_hangul != 0,
            at_root: stretch.at_root,
            start,
            at: start,
            node: 0,
            base: 0,
            popped: Vec::new(),
            emit,
        };
        machine.enter(machine.root());
        machine
    }

    /// The root from which the next token is matched.
    #[inline(always)]
    fn root(&self) -> u32 {
        if self.at_root { ROOT_UNIT } else { self.tables.parameters.suffix_root }
    }

    #[inline(always)]
    fn unit(&self) -> Unit {
        self.tables.units[self.node as usize]
    }

    #[inline(always)]
    fn enter(&mut self, node: u32) {
        self.node = node;
        self.base = self.unit().base;
    }

    /// The code of the character, or of the jamo, at a place, and the place behind it.
    #[inline(always)]
    fn decode(&self, place: Place) -> (u32, Place) {
        let (c, length) = utf8::decode(self.bytes, place.byte);
        if self.split_hangul && utf8::is_hangul_syllable(c) {
            let (jamo, count) = utf8::hangul_jamo(c);
            let next = place.jamo + 1;
            let last = next >= count;
            let place = if last { Place { byte: place.byte + length, jamo: 0 } } else { Place { jamo: next, ..place } };
            return (self.tables.codes.code(jamo[(next - 1).min(2)]), place);
        }
        (self.tables.codes.code(c), Place { byte: place.byte + length, jamo: 0 })
    }

    /// The child of the node with these children, if it has one by this code.
    #[inline(always)]
    fn child(&self, base: u32, code: u32) -> Option<u32> {
        (self.tables.units[(base ^ code) as usize].check == base).then_some(base ^ code)
    }

    /// Read one character, unless before or after that the machine is at `r#` at a place for which `meets` holds: then
    /// gives true. A failure link leads to a smaller depth, and only a character makes it greater, by one.
    #[inline(always)]
    fn step(&mut self, meets: &mut impl FnMut(usize) -> bool) -> bool {
        let (code, next) = self.decode(self.at);
        loop {
            if let Some(child) = self.child(self.base, code) {
                self.at = next;
                self.enter(child);
                return false;
            }
            if self.unit().failure == NONE {
                self.at = next;
                self.put(UNKNOWN_CHARACTER, next);
                self.enter(self.root());
                return next.jamo == 0 && meets(next.byte);
            }
            self.fail();
            if self.node == self.tables.parameters.suffix_root && self.at.jamo == 0 && meets(self.at.byte) {
                return true;
            }
        }
    }

    /// Follow the failure link of the node, which has one.
    #[inline(always)]
    fn fail(&mut self) {
        let unit = self.unit();
        let pops = Packed(unit.pops);
        // Mostly the node is a token.
        if pops.count() == 1 && unit.failure == self.tables.parameters.suffix_root {
            self.put(pops.value(), self.at);
        } else {
            self.pop(pops);
        }
        self.enter(unit.failure);
    }

    /// Pops of a node whose string is no token: where each of them ends has to be found.
    #[inline(never)]
    fn pop(&mut self, pops: Packed) {
        let count = pops.length(self.tables.pops);
        let mut popped = std::mem::take(&mut self.popped);
        popped.resize(popped.len().max(count + 1), 0);
        pop(pops, self.tables.pops, &mut popped);
        for &token in &popped[..count] {
            let end = self.end_of(token);
            self.put(token, end);
        }
        self.popped = popped;
    }

    /// Where a token ends that is popped next. It takes as many steps as it has characters, and each is popped once.
    fn end_of(&self, token: u32) -> Place {
        let node_of_token = (Packed(1 << 28 | token), self.tables.parameters.suffix_root);
        let (mut base, mut end) = (self.tables.units[self.root() as usize].base, self.start);
        while end < self.at {
            let (code, next) = self.decode(end);
            end = next;
            // A character that has no edge is itself unknown.
            let Some(child) = self.child(base, code) else { break };
            let unit = self.tables.units[child as usize];
            if (Packed(unit.pops), unit.failure) == node_of_token {
                break;
            }
            base = unit.base;
        }
        end
    }

    /// Let a token go that begins at the start and ends here.
    #[inline(always)]
    fn put(&mut self, token: u32, end: Place) {
        let last = if end.jamo == 0 { end.byte } else { end.byte + SYLLABLE };
        (self.emit)(token, self.start.byte..last, self.start.jamo);
        self.start = end;
        self.at_root = false;
    }
}
