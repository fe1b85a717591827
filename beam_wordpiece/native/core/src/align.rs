//! Which character of the text each normalized character comes from, as HF's alignments say.
//!
//! It is the character itself, but for marks. HF sorts the marks of a run by their combining classes, those that are
//! stripped too, and then counts: each mark that was a character, or the first one in a decomposition, takes the next
//! character of the run, wherever it stood before; each other mark shares the character of the mark before it. So the
//! alignment goes by places, and never backwards.

use crate::automaton::Tables;
use crate::code_points::{Action, CODE_POINTS, Output};
use crate::options::Profile;
use crate::origins::first;
use crate::profile;

/// Stretches of characters that a run may have, at least. Characters that `clean_text` deletes among marks begin new ones;
/// where there are more of them than in any text, and than marks are kept, the places of marks that stay are guessed.
const MOST_STRETCHES: usize = 64;

/// Characters that a text has at most: sums of some such numbers fit.
pub const MOST_CHARACTERS: u64 = 1 << 48;

/// The marks of a run whose order is not decided yet. That is all that is carried from one part of a text to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Aligner {
    /// Marks that stay, in the order of the text.
    marks: Vec<Mark>,
    /// For each combining class of the run, in order: how many of its marks take a character.
    takers: Vec<(u8, u64)>,
    /// The characters that are taken, as stretches: the origin of the first, and how many. One that stands for the key of a
    /// rule is a stretch of its own.
    stretches: Vec<(u64, u64)>,
    /// The origin of the character before the run.
    before: u64,
}

/// A mark that stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    output: Output,
    /// Marks of the same class up to and with this one that take a character.
    takers: u64,
}

impl Aligner {
    /// Whether no mark waits.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty() && self.stretches.is_empty()
    }

    /// Forget the run.
    pub fn clear(&mut self) {
        self.marks.clear();
        self.takers.clear();
        self.stretches.clear();
    }

    /// Take a character that no rule is about, and its origin, see [`join`](crate::origins::join): `put` gets what comes
    /// out of it and of the marks before it, with the origin of each. [`Output::BARRIER`] does not come out.
    ///
    /// Of more than `most_marks` marks that stay only the outer ones are kept, and as many as that: the word is too long,
    /// and all that matters of it is where it begins and ends.
    pub fn take(
        &mut self,
        tables: &Tables<'_>,
        c: u32,
        origin: u64,
        most_marks: usize,
        put: &mut impl FnMut(Output, u64),
    ) {
        match tables.without_rules.action(c) {
            Action::One(output) => self.starter(output, origin, put),
            Action::Delete { barrier: true } => self.starter(Output::BARRIER, origin, put),
            Action::Delete { barrier: false } => {
                let class = stripped_class(tables, c);
                if class != 0 {
                    self.take_character(class, origin, most_marks);
                }
            }
            Action::Many(outputs) => {
                for (place, &output) in outputs.iter().enumerate() {
                    match output.combining_class() {
                        0 => self.starter(output, origin, put),
                        class => {
                            let takers = match place {
                                0 => self.take_character(class, origin, most_marks),
                                _ => self.takers_of(class),
                            };
                            self.marks.push(Mark { output, takers });
                        }
                    }
                }
                if self.marks.len() / 2 > most_marks {
                    self.drop_inner_marks(most_marks);
                }
            }
        }
    }

    /// The end of a run: its marks come out in the order of their classes.
    #[inline(always)]
    pub fn finish(&mut self, put: &mut impl FnMut(Output, u64)) {
        if !self.is_empty() {
            self.finish_run(put);
        }
    }

    /// All that it holds, as numbers.
    pub fn to_numbers(&self) -> Vec<u64> {
        let mut numbers = vec![self.before, self.marks.len() as u64, self.takers.len() as u64];
        numbers.extend(self.marks.iter().flat_map(|mark| [u64::from(mark.output.0), mark.takers]));
        numbers.extend(self.takers.iter().flat_map(|&(class, count)| [u64::from(class), count]));
        numbers.extend(self.stretches.iter().flat_map(|&(first, length)| [first, length]));
        numbers
    }

    /// The one that had these numbers; None where there is none.
    pub fn from_numbers(numbers: &[u64]) -> Option<Aligner> {
        let (&[before, marks, takers], rest) = numbers.split_first_chunk()?;
        let (pairs, []) = rest.as_chunks::<2>() else { return None };
        let (marks, rest) = pairs.split_at_checked(usize::try_from(marks).ok()?)?;
        let (takers, stretches) = rest.split_at_checked(usize::try_from(takers).ok()?)?;
        let mark = |&[output, takers]: &[u64; 2]| Some(Mark { output: Output(output.try_into().ok()?), takers });
        let class = |&[class, count]: &[u64; 2]| Some((u8::try_from(class).ok()?, count));
        let made = Aligner {
            marks: marks.iter().map(mark).collect::<Option<_>>()?,
            takers: takers.iter().map(class).collect::<Option<_>>()?,
            stretches: stretches.iter().map(|&[first, length]| (first, length)).collect(),
            before,
        };
        made.is_sound().then_some(made)
    }

    /// Whether it can be used: classes in order, code points, and numbers whose sums are none to worry about.
    fn is_sound(&self) -> bool {
        let outputs = self.marks.iter().map(|mark| mark.output);
        self.takers.is_sorted_by(|a, b| a.0 < b.0)
            && outputs
                .into_iter()
                .all(|output| output.code_point() < CODE_POINTS as u32 && output.combining_class() != 0)
            && self.marks.iter().all(|mark| mark.takers <= self.takers_of(mark.output.combining_class()))
            && self.stretches.iter().all(|&(_, length)| length > 0 && length < MOST_CHARACTERS)
            && self.takers.iter().all(|&(_, count)| count < MOST_CHARACTERS)
    }

    #[inline(always)]
    fn starter(&mut self, output: Output, origin: u64, put: &mut impl FnMut(Output, u64)) {
        self.finish(put);
        self.before = origin;
        if output != Output::BARRIER {
            put(output, origin);
        }
    }

    #[inline(never)]
    fn finish_run(&mut self, put: &mut impl FnMut(Output, u64)) {
        self.marks.sort_by_key(|mark| mark.output.combining_class());
        let (mut below, mut classes) = (0, self.takers.iter().peekable());
        let (mut passed, mut stretches) = (0, self.stretches.iter().peekable());
        for mark in &self.marks {
            while let Some((_, count)) = classes.next_if(|(class, _)| *class < mark.output.combining_class()) {
                below += count;
            }
            let Some(place) = (below + mark.takers).checked_sub(1) else {
                put(mark.output, self.before);
                continue;
            };
            while let Some((_, length)) = stretches.next_if(|(_, length)| passed + length <= place) {
                passed += length;
            }
            put(mark.output, stretches.peek().map_or(self.before, |(first, _)| plus(*first, place - passed)));
        }
        if let Some((first, length)) = self.stretches.last() {
            self.before = plus(*first, length - 1);
        }
        self.clear();
    }

    /// A mark of this class takes a character; gives how many of its class have.
    fn take_character(&mut self, class: u8, origin: u64, most_marks: usize) -> u64 {
        let full = self.stretches.len() >= MOST_STRETCHES.max(most_marks);
        match self.stretches.last_mut() {
            Some((first, length)) if *first + *length == origin => *length += 1,
            Some((_, length)) if full => *length += 1,
            _ => self.stretches.push((origin, 1)),
        }
        let place = self.takers.partition_point(|&(other, _)| other < class);
        if self.takers.get(place).is_none_or(|&(other, _)| other != class) {
            self.takers.insert(place, (class, 0));
        }
        self.takers[place].1 += 1;
        self.takers[place].1
    }

    fn takers_of(&self, class: u8) -> u64 {
        self.takers.iter().find(|&&(other, _)| other == class).map_or(0, |&(_, count)| count)
    }

    fn drop_inner_marks(&mut self, most_marks: usize) {
        self.marks.sort_by_key(|mark| mark.output.combining_class());
        let last = self.marks.len() - 1;
        self.marks.swap(most_marks, last);
        self.marks.truncate(most_marks + 1);
    }
}

/// The origin of the character that comes so many after another one.
fn plus(origin: u64, more: u64) -> u64 {
    if more == 0 { origin } else { (first(origin) + more).min(MOST_CHARACTERS - 1) }
}

/// The combining class of a mark that is stripped; 0 for a character that is deleted before marks are sorted.
fn stripped_class(tables: &Tables<'_>, c: u32) -> u8 {
    let profile = profile::Tables::of(Profile::from_code(tables.parameters.profile).unwrap_or(Profile::Hf));
    profile.decompose(&c).first().map_or(0, |&first| profile.combining_class(first))
}
