//! Stretches of text in lanes: each is cut into segments, which are walked all at once.
//!
//! From a place on where the machine is at `r#`, its tokens depend on nothing before that. So a segment is walked from
//! `r#`, as if it began with a token, and a little over its end. Where the machine that comes from the segment before is
//! at `r#` at the same place as the one of the next segment, what that has from there on is what a single machine has.
//! Texts come to such a place within few tokens. Those that do not are matched by a single machine until they do: so
//! every character is read twice at most, and little more than once mostly. Where unknown characters become anything but
//! the unknown token, tokens that are popped together with one are matched again, to know where it stands.

use crate::automaton::Tables;
use crate::chunk::{Chunk, TOKEN_MARK};
use crate::failure::UNKNOWN_CHARACTER;
use crate::options::Unknown;
use crate::pieces::{FROM_ROOT, Pieces, SLACK, WHOLE};
use crate::simd::Simd;
use crate::stretch::Stretch;
use crate::unknown::{Fault, Sink};
use crate::utf8;
use crate::walk::Machine;
use std::ops::{Range, RangeInclusive};

/// Bytes of a segment, as many as fill all lanes with a chunk, but within these bounds.
const LENGTHS: RangeInclusive<usize> = 192..=1024;
/// Lanes that are filled for each lane of a vector.
const TURNS: usize = 4;
/// Bytes that a segment is walked over its end.
const OVER: usize = 48;
/// Bytes of a jamo.
const JAMO: usize = 3;

/// See the module. Buffers that are used again from one chunk to the next.
#[derive(Debug, Default)]
pub struct Segments {
    /// Bytes of a segment, at least four; None for what suits the level.
    length: Option<usize>,
    all: Vec<Segment>,
    /// For each word of the chunk, the open one included: where its text is that is walked, and the end of its segments.
    texts: Vec<(Range<usize>, usize)>,
}

/// A segment on its way.
#[derive(Debug, Clone, Copy)]
struct Segment {
    start: usize,
    /// Where walking it ends.
    end: usize,
    flags: u32,
}

impl Segments {
    /// Segments of so many bytes, four at least, whatever is fast.
    pub fn of(bytes: usize) -> Segments {
        Segments { length: Some(bytes.max(4)), ..Segments::default() }
    }

    /// Cut the stretches of a chunk, the first of which goes on with `stretch`; true where that is worth it, with so many
    /// lanes.
    pub fn cut(&mut self, tables: &Tables<'_>, stretch: &Stretch, chunk: &mut Chunk, lanes: usize) -> bool {
        // What is undecided for so long meets nothing either, and would be walked with each part.
        if self.length.is_none() && chunk.is_mostly_carried() {
            return false;
        }
        let suits = (chunk.len / (TURNS * lanes)).clamp(*LENGTHS.start(), *LENGTHS.end());
        self.cut_all(tables, stretch, chunk, self.length.unwrap_or(suits));
        self.all.len() >= lanes / 2 || self.length.is_some()
    }

    /// Walk all segments.
    #[inline(always)]
    pub fn walk<S: Simd>(&mut self, simd: S, tables: &Tables<'_>, chunk: &Chunk, pieces: &mut Pieces) {
        self.prepare(chunk, pieces);
        simd.walk_by_characters(&Machine::new(tables, &chunk.bytes), pieces);
    }

    /// Append the ids of the stretches and the ends of texts; the same as [`Stretch::run_chunk`].
    pub fn join(
        &self,
        stretch: &mut Stretch,
        pieces: &Pieces,
        text_ends: &[u32],
        sink: &mut Sink<'_>,
    ) -> Result<Option<Range<usize>>, Fault> {
        let chunk = sink.chunk;
        let joined =
            Joined { tables: sink.tables, bytes: &chunk.bytes, unknown: sink.unknown, segments: &self.all, pieces };
        let mut text_ends = text_ends.iter().peekable();
        let mut first = 0;
        for (word, (text, end)) in self.texts.iter().enumerate() {
            while text_ends.next_if(|&&end| end as usize == word).is_some() {
                sink.end_row();
            }
            let Some((part, ended)) = chunk.word_or_open(word) else { break };
            if sink.found(&part) {
                continue;
            }
            let mut state = Stretch { jamo: 0, ..std::mem::take(stretch) };
            let undecided = joined.run(&mut state, text.clone(), first..*end, ended, sink);
            first = *end;
            if let Some(fault) = sink.fault {
                return Err(fault);
            }
            if !ended {
                let (place, jamo) = if text.end == part.end {
                    (undecided.start, 0)
                } else {
                    in_syllables(&chunk.bytes, part.clone(), text.end - undecided.start)
                };
                *stretch = Stretch { at_root: state.at_root, jamo, run: sink.run };
                return Ok(Some(place..part.end));
            }
            sink.end_word();
        }
        text_ends.for_each(|_| sink.end_row());
        Ok(None)
    }

    /// Cut the stretches of a chunk, with their Hangul syllables split behind its text.
    fn cut_all(&mut self, tables: &Tables<'_>, stretch: &Stretch, chunk: &mut Chunk, length: usize) {
        self.all.clear();
        self.texts.clear();
        let mut free = chunk.len + SLACK;
        let mut state = *stretch;
        for word in 0..=chunk.words() {
            let Some((part, ended)) = chunk.word_or_open(word) else { break };
            let bytes = &chunk.bytes[part.clone()];
            let mut text = part.clone();
            if bytes.first() == Some(&TOKEN_MARK) {
                text.end = text.start;
            } else {
                if tables.parameters.split_hangul != 0 && may_have_hangul(bytes) {
                    let end = chunk.split_syllables(part, free);
                    text = (free + JAMO * usize::from(state.jamo)).min(end)..end;
                    free = end;
                }
                self.cut_text(&chunk.bytes, text.clone(), length, state.at_root, ended);
                state = Stretch::default();
            }
            self.texts.push((text, self.all.len()));
        }
        chunk.ensure(free + SLACK);
    }

    /// Cut one stretch.
    fn cut_text(&mut self, bytes: &[u8], text: Range<usize>, length: usize, at_root: bool, ended: bool) {
        let mut start = text.start;
        let mut flags = if at_root { FROM_ROOT } else { 0 };
        while start < text.end {
            let next = if text.end - start > 2 * length { utf8::boundary(bytes, start + length) } else { text.end };
            if next == text.end {
                let whole = if ended { WHOLE } else { 0 };
                self.all.push(Segment { start, end: next, flags: flags | whole });
            } else {
                self.all.push(Segment { start, end: utf8::boundary(bytes, next + OVER.min(length)), flags });
            }
            (start, flags) = (next, 0);
        }
    }

    /// Tell the lanes what to walk.
    fn prepare(&self, chunk: &Chunk, pieces: &mut Pieces) {
        let room = self.all.iter().map(|segment| segment.end - segment.start + 1).sum();
        pieces.make_room(room, self.all.len());
        pieces.places.ensure(pieces.ids.len());
        let mut target = 0;
        for (number, &Segment { start, end, flags }) in self.all.iter().enumerate() {
            (pieces.firsts[number], pieces.ends[number]) = (target as u32, target as u32);
            let work = if chunk.bytes[start..end].is_ascii() { &mut pieces.ascii } else { &mut pieces.other };
            work.push(start, end, number as u32 | flags);
            target += end - start + 1;
        }
    }
}

/// Whether there is a first byte of a Hangul syllable. In parts, within which the compiler compares many at a time.
fn may_have_hangul(bytes: &[u8]) -> bool {
    let leads = |part: &[u8]| part.iter().fold(false, |any, byte| any | (0xEA..=0xED).contains(byte));
    bytes.chunks(256).any(leads)
}

/// The place of a stretch that is so many bytes before its end when its syllables are split, and the jamo before it.
fn in_syllables(bytes: &[u8], part: Range<usize>, mut behind: usize) -> (usize, u8) {
    let mut place = part.end;
    while behind > 0 && place > part.start {
        place = utf8::boundary(bytes, place - 1);
        let (c, length) = utf8::decode(bytes, place);
        let length = if utf8::is_hangul_syllable(c) { JAMO * utf8::hangul_jamo(c).1 } else { length };
        if behind < length {
            return (place, ((length - behind) / JAMO) as u8);
        }
        behind -= length;
    }
    (place, 0)
}

/// The segments when they are walked.
struct Joined<'a> {
    tables: &'a Tables<'a>,
    bytes: &'a [u8],
    unknown: Unknown,
    segments: &'a [Segment],
    pieces: &'a Pieces,
}

/// Goes through places of a stretch at which segments are at `r#`.
struct Meeting<'a> {
    joined: &'a Joined<'a>,
    segment: usize,
    end: usize,
    /// The next id of the segment.
    next: usize,
}

impl Joined<'_> {
    /// The tokens of a stretch; gives what is undecided.
    fn run(
        &self,
        stretch: &mut Stretch,
        text: Range<usize>,
        segments: Range<usize>,
        ended: bool,
        sink: &mut Sink<'_>,
    ) -> Range<usize> {
        if segments.is_empty() && !ended {
            return text;
        }
        let (mut segment, mut place) = (segments.start, text.start);
        let mut next = self.ids(segment).start;
        while segment < segments.end {
            let ids = next..self.ids(segment).end;
            if segment + 1 == segments.end && ended {
                self.emit(stretch, place, ids, sink);
                break;
            }
            let mut meeting = Meeting::new(self, segment + 1, segments.end);
            // The first place where both are, or else the last where this one is.
            let met = meeting.of_ids(ids.clone());
            let last = met.or_else(|| ids.clone().rev().find(|&id| self.pieces.places[id] != 0));
            if let Some(last) = last {
                self.emit(stretch, place, ids.start..last + 1, sink);
                place = self.pieces.places[last] as usize;
                stretch.at_root = false;
            }
            if met.is_none() {
                let (meets, emit) = (|place| meeting.at(place), |token, bytes, jamo| sink.token(token, bytes, jamo));
                match stretch.run_until(self.tables, self.bytes, place..text.end, ended, meets, emit) {
                    Ok(undecided) => return undecided,
                    Err(met) => place = met,
                }
            }
            (segment, next) = (meeting.segment, meeting.next);
        }
        *stretch = Stretch::default();
        text.end..text.end
    }

    /// The ids of a segment, of which there may be none.
    fn ids(&self, segment: usize) -> Range<usize> {
        let place = |places: &[u32]| places.get(segment).map_or(0, |&place| place as usize);
        place(&self.pieces.firsts)..place(&self.pieces.ends)
    }

    /// Let ids go whose characters begin at a place.
    fn emit(&self, stretch: &Stretch, place: usize, ids: Range<usize>, sink: &mut Sink<'_>) {
        let Pieces { ids: all, places, .. } = self.pieces;
        if self.unknown == Unknown::Character || !all[ids.clone()].contains(&UNKNOWN_CHARACTER) {
            return sink.tokens(&all[ids]);
        }
        let (mut place, mut stretch) = (place, *stretch);
        let mut first = ids.start;
        while first < ids.end {
            // It is known where the last one ends.
            let behind = (first..ids.end).find(|&id| places[id] != 0).map_or(ids.end, |id| id + 1);
            let end = places[behind - 1] as usize;
            match &all[first..behind] {
                [UNKNOWN_CHARACTER] => sink.token(UNKNOWN_CHARACTER, place..end, 0),
                known if !known.contains(&UNKNOWN_CHARACTER) => sink.tokens(known),
                _ => {
                    let emit = |token, bytes, jamo| sink.token(token, bytes, jamo);
                    stretch.run(self.tables, self.bytes, place..end, true, emit);
                }
            }
            (first, place, stretch.at_root) = (behind, end, false);
        }
    }
}

impl<'a> Meeting<'a> {
    /// With the segments from this one on.
    fn new(joined: &'a Joined<'a>, segment: usize, end: usize) -> Meeting<'a> {
        Meeting { joined, segment, end, next: joined.ids(segment).start }
    }

    /// The first of these ids behind which there is such a place.
    fn of_ids(&mut self, ids: Range<usize>) -> Option<usize> {
        let start = self.joined.segments.get(self.segment).filter(|_| self.segment < self.end)?.start;
        let places = &self.joined.pieces.places;
        let before = ids.clone().rev().find(|&id| places[id] != 0 && (places[id] as usize) < start);
        let mut ids = before.map_or(ids.start, |id| id + 1)..ids.end;
        ids.find(|&id| places[id] != 0 && self.at(places[id] as usize))
    }

    /// Whether a place is one, which is none before the last one that was asked for.
    fn at(&mut self, place: usize) -> bool {
        let places = &self.joined.pieces.places;
        while self.segment < self.end {
            let start = self.joined.segments[self.segment].start;
            if place <= start {
                return place == start;
            }
            let mut ids = self.next..self.joined.ids(self.segment).end;
            if let Some(id) = ids.find(|&id| places[id] as usize >= place) {
                let met = places[id] as usize == place;
                self.next = if met { id + 1 } else { id };
                return met;
            }
            self.segment += 1;
            self.next = self.joined.ids(self.segment).start;
        }
        false
    }
}
