//! Texts in, ids out: the passes, chunk by chunk, over documents of any length.

use crate::automaton::{Automaton, Tables};
use crate::chunk::Chunk;
use crate::error::Error;
use crate::exact::Exact;
use crate::lookup::Lookup;
use crate::merge::{MARGIN, merge};
use crate::normalizer::{Position, Stop, normalize};
use crate::sample::Counts;
use crate::simd::{Level, Simd};
use crate::walk::Pieces;

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

/// Ids of many texts.
#[derive(Debug, Default)]
pub struct Encoded {
    /// Ids of all texts, one after the other.
    pub ids: Vec<u32>,
    /// End of the ids of each text.
    pub ends: Vec<u64>,
    /// How many of the ids are that of the unknown token.
    pub unknowns: usize,
    /// Texts in which invalid UTF-8 was replaced.
    pub invalid: usize,
}

/// Buffers that are used again from one call to the next. They do not grow with the text, but
/// for a run of marks where an added token has some: its order is known only at its end.
#[derive(Debug, Default)]
pub struct Workspace {
    chunk: Chunk,
    position: Position,
    exact: Exact,
    lookup: Lookup,
    pieces: Pieces,
    /// For each text that has ended in the chunk: number of words before its end.
    text_ends: Vec<u32>,
    /// Words are counted, in what is here.
    pub(crate) counts: Option<Counts>,
}

impl Workspace {
    /// Buffers that count the words on the way.
    pub(crate) fn counting() -> Workspace {
        Workspace { counts: Some(Counts::default()), ..Workspace::default() }
    }
}

/// Text ends that wait at most, so that many empty texts do not fill memory.
const MOST_TEXT_ENDS: usize = 4096;

/// Encode texts; None is a text that is not there and has no ids, not even those of the template.
pub fn encode<'t>(
    automaton: &Automaton,
    texts: impl Iterator<Item = Option<&'t [u8]>>,
    options: &EncodeOptions,
    workspace: &mut Workspace,
    out: &mut Encoded,
) -> Result<(), Error> {
    let (prefix, suffix) = if options.add_special_tokens { automaton.template() } else { (&[][..], &[][..]) };
    let job = Job { tables: automaton.tables(), prefix, suffix, strict: options.strict };
    match options.level {
        Level::Portable(simd) => job.run(simd, texts, workspace, out),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2(simd) => job.run(simd, texts, workspace, out),
        #[cfg(target_arch = "x86_64")]
        Level::Avx512(simd) => job.run(simd, texts, workspace, out),
    }
}

struct Job<'a> {
    tables: Tables<'a>,
    prefix: &'a [u32],
    suffix: &'a [u32],
    strict: bool,
}

impl Job<'_> {
    fn run<'t, S: Simd>(
        &self,
        simd: S,
        texts: impl Iterator<Item = Option<&'t [u8]>>,
        workspace: &mut Workspace,
        out: &mut Encoded,
    ) -> Result<(), Error> {
        workspace.chunk.clear();
        workspace.text_ends.clear();
        for (row, text) in texts.enumerate() {
            if let Some(text) = text {
                let readable = self.readable(text);
                out.invalid += usize::from(readable.is_some());
                let text = readable.as_ref().map_or(text, |readable| readable.as_bytes());
                self.text(simd, text, row, workspace, out)?;
            }
            workspace.text_ends.push(workspace.chunk.words() as u32);
            if workspace.chunk.is_full() || workspace.text_ends.len() >= MOST_TEXT_ENDS {
                self.flush(simd, workspace, out);
            }
        }
        self.flush(simd, workspace, out);
        Ok(())
    }

    /// The text with U+FFFD for its invalid parts, where it has some and an added token may stand there.
    fn readable(&self, text: &[u8]) -> Option<String> {
        let needed = self.tables.added.raw.has_replacement && !self.strict && std::str::from_utf8(text).is_err();
        needed.then(|| String::from_utf8_lossy(text).into_owned())
    }

    /// Add one text to the chunk, emptying that as often as needed.
    fn text<S: Simd>(
        &self,
        simd: S,
        text: &[u8],
        row: usize,
        workspace: &mut Workspace,
        out: &mut Encoded,
    ) -> Result<(), Error> {
        self.prefix.iter().for_each(|&id| workspace.chunk.push_token(id));
        workspace.position.restart();
        workspace.exact.clear();
        loop {
            let Workspace { chunk, position, exact, .. } = workspace;
            let stop = if self.tables.added.normalized.is_empty() {
                simd.run(
                    #[inline(always)]
                    |simd| normalize(simd, &self.tables, text, position, chunk),
                )
            } else {
                exact.normalize(&self.tables, text, position, chunk)
            };
            if let Some(position) = position.invalid
                && self.strict
            {
                return Err(Error::InvalidText { row, position });
            }
            match stop {
                Stop::End => break,
                Stop::Full => self.flush(simd, workspace, out),
            }
        }
        out.invalid += usize::from(workspace.position.invalid.is_some());
        self.suffix.iter().for_each(|&id| workspace.chunk.push_token(id));
        Ok(())
    }

    /// Match the complete words of the chunk and append their ids.
    #[inline(never)]
    fn flush<S: Simd>(&self, simd: S, workspace: &mut Workspace, out: &mut Encoded) {
        let Workspace { chunk, lookup, pieces, text_ends, counts, .. } = workspace;
        chunk.end_isolated();
        // The ids will be written there; until then the lines are on their way.
        out.ids.reserve(2 * chunk.words() + MARGIN);
        let room: &[u8] = bytemuck::cast_slice(&out.ids);
        for line in (0..4 * chunk.words()).step_by(64) {
            simd.prefetch(room, room.len() + line);
        }
        simd.run(
            #[inline(always)]
            |simd| simd.look_up(&self.tables, chunk, lookup),
        );
        simd.run(
            #[inline(always)]
            |simd| pieces.run(simd, &self.tables, chunk, lookup),
        );
        if let Some(counts) = counts {
            counts.add(chunk, lookup, pieces);
        }
        let unk_id = self.tables.parameters.unk_id;
        simd.run(
            #[inline(always)]
            |_| merge(lookup, chunk.words(), pieces, unk_id, text_ends, out),
        );
        text_ends.clear();
        // Four bytes a character at most: so many bytes have more characters than a word may.
        chunk.carry_open_word(4 * self.tables.parameters.max_input_chars_per_word as usize);
    }
}
