//! Texts in, ids out: the passes, chunk by chunk, over documents of any length, whole or in parts.

use crate::automaton::{Automaton, Tables};
use crate::chunk::Chunk;
use crate::document::Document;
use crate::error::Error;
use crate::lookup::Lookup;
use crate::matching::Matching;
use crate::normalizer::{Stop, finish, normalize};
use crate::offsets::NOWHERE;
use crate::pieces::Pieces;
pub use crate::rows::{EncodeOptions, Encoded, Part};
use crate::sample::Counts;
use crate::segments::Segments;
use crate::simd::{Level, Simd};
use crate::stretch::Stretch;
use crate::utf8;
use crate::whole::Whole;

/// Buffers that are used again from one call to the next. They do not grow with the text, but
/// for a run of marks where an added token has some: its order is known only at its end.
#[derive(Debug, Default)]
pub struct Workspace {
    pub(crate) chunk: Chunk,
    pub(crate) lookup: Lookup,
    pub(crate) pieces: Pieces,
    pub(crate) segments: Segments,
    /// For each row that has ended in the chunk: number of words before its end.
    pub(crate) row_ends: Vec<u32>,
    /// For texts that are whole.
    document: Document,
    /// Words are counted, in what is here.
    pub(crate) counts: Option<Counts>,
    pub(crate) whole: Whole,
    /// Rows that had ended before the call.
    pub(crate) rows_before: usize,
    /// What is wrong with a text, once that is known.
    pub(crate) fault: Option<Error>,
}

impl Workspace {
    /// Buffers with which stretches are cut into segments of so many bytes, four at least, whatever is fast.
    pub fn with_segments(bytes: usize) -> Workspace {
        Workspace { segments: Segments::of(bytes), ..Workspace::default() }
    }

    /// Buffers with which so many words are walked in rounds on the portable level, whatever is fast.
    pub fn with_rounds(words: usize) -> Workspace {
        let mut workspace = Workspace::default();
        workspace.pieces.rounds.few = words;
        workspace
    }

    /// Buffers that count the words on the way.
    pub(crate) fn counting() -> Workspace {
        Workspace { counts: Some(Counts::default()), ..Workspace::default() }
    }

    /// Stop where something is wrong with a text.
    fn check(&mut self) -> Result<(), Error> {
        self.fault.take().map_or(Ok(()), Err)
    }
}

/// Row ends that wait at most, so that many empty rows do not fill memory.
const MOST_ROW_ENDS: usize = 4096;

/// Encode texts, each a whole document.
pub fn encode<'t>(
    automaton: &Automaton,
    texts: impl Iterator<Item = Option<&'t [u8]>>,
    options: &EncodeOptions,
    workspace: &mut Workspace,
    out: &mut Encoded,
) -> Result<(), Error> {
    let mut document = std::mem::take(&mut workspace.document);
    document.clear();
    document.stretch = Stretch::default();
    let rows = texts.map(|text| Part { text, ends: true });
    let result = encode_parts(automaton, rows, options, &mut document, workspace, out);
    workspace.document = document;
    result
}

/// Encode a text, a whole document, with the offsets of its ids.
pub fn encode_with_offsets(
    automaton: &Automaton,
    text: &[u8],
    options: &EncodeOptions,
    workspace: &mut Workspace,
    out: &mut Encoded,
) -> Result<(), Error> {
    let row = Part { text: Some(text), ends: true };
    encode_parts(automaton, std::iter::once(row), options, &mut Document::with_offsets(), workspace, out)
}

/// Encode rows that are parts of documents, cut anywhere. The first of them go on with `document`, which is the open one
/// afterwards. The ids of a row are those that are decided with it and were not before.
///
/// `document` is of no use after an error: keep a copy where one may come. [`Document::check`] tells the place in it.
pub fn encode_parts<'t>(
    automaton: &Automaton,
    mut parts: impl Iterator<Item = Part<'t>>,
    options: &EncodeOptions,
    document: &mut Document,
    workspace: &mut Workspace,
    out: &mut Encoded,
) -> Result<(), Error> {
    encode_rows(automaton, &mut parts, options, document, workspace, out)
}

/// The same, compiled once and not for each kind of iterator: all of the kernel is in it.
fn encode_rows<'t>(
    automaton: &Automaton,
    parts: &mut dyn Iterator<Item = Part<'t>>,
    options: &EncodeOptions,
    document: &mut Document,
    workspace: &mut Workspace,
    out: &mut Encoded,
) -> Result<(), Error> {
    let (prefix, suffix) = if options.add_special_tokens { automaton.template() } else { (&[][..], &[][..]) };
    let tables = automaton.tables();
    let job = Job { automaton, tables, matching: tables.parameters.matching(), prefix, suffix, strict: options.strict };
    match options.level {
        Level::Portable(simd) => job.run(simd, parts, document, workspace, out),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2(simd) => job.run(simd, parts, document, workspace, out),
        #[cfg(target_arch = "x86_64")]
        Level::Avx512(simd) => job.run(simd, parts, document, workspace, out),
    }
}

/// What is to be done with texts.
pub(crate) struct Job<'a> {
    pub automaton: &'a Automaton,
    pub tables: Tables<'a>,
    /// Where words or all that lies between added tokens are stretches.
    pub matching: Option<Matching>,
    prefix: &'a [u32],
    suffix: &'a [u32],
    strict: bool,
}

impl Job<'_> {
    fn run<'t, S: Simd>(
        &self,
        simd: S,
        parts: &mut dyn Iterator<Item = Part<'t>>,
        document: &mut Document,
        workspace: &mut Workspace,
        out: &mut Encoded,
    ) -> Result<(), Error> {
        workspace.chunk.resume(&document.word, !document.word.is_empty() || !document.stretch.at_root);
        if let Some(origins) = &document.exact.origins {
            workspace.chunk.origins.extend_from_slice(&origins.word);
            out.offsets.resume(origins.words);
        }
        workspace.row_ends.clear();
        (workspace.rows_before, workspace.fault) = (out.ends.len(), None);
        for (row, part) in parts.enumerate() {
            workspace.check()?;
            // One that is not there yet stays so; another one ends with nothing more.
            let rest: Option<&[u8]> = (part.ends && document.begun).then_some(&[]);
            if let Some(text) = part.text.or(rest) {
                self.text(simd, text, part.ends, document, workspace, out);
                if let Some(position) = document.position.invalid
                    && self.strict
                {
                    return Err(Error::InvalidText { row, position });
                }
            }
            if part.ends {
                out.invalid += usize::from(document.position.invalid.is_some());
                out.nulls += usize::from(!document.begun);
                if document.has_offsets() {
                    self.flush(simd, document, workspace, out);
                    out.offsets.resume(0);
                }
                document.clear();
            }
            if self.matching.is_some() && !part.ends {
                // Tokens leave an open stretch too, and they are this row's.
                self.flush(simd, document, workspace, out);
                out.ends.push(out.ids.len() as u64);
                continue;
            }
            workspace.row_ends.push(workspace.chunk.words() as u32);
            if workspace.chunk.is_full() || workspace.row_ends.len() >= MOST_ROW_ENDS {
                self.flush(simd, document, workspace, out);
            }
        }
        self.flush(simd, document, workspace, out);
        workspace.check()?;
        document.word.clear();
        document.word.extend_from_slice(workspace.chunk.open_word());
        if let Some(origins) = &mut document.exact.origins {
            origins.word.clear();
            origins.word.extend_from_slice(&workspace.chunk.origins);
            origins.words = out.offsets.words_so_far();
        }
        Ok(())
    }

    /// Add a part of a document to the chunk, emptying that as often as needed.
    #[inline(always)]
    fn text<S: Simd>(
        &self,
        simd: S,
        text: &[u8],
        ends: bool,
        document: &mut Document,
        workspace: &mut Workspace,
        out: &mut Encoded,
    ) {
        if !document.begun {
            document.begun = true;
            self.template(self.prefix, document, &mut workspace.chunk);
        }
        let readable = if self.strict { None } else { document.readable(&self.tables, text, ends) };
        let mut rest = readable.as_deref().unwrap_or(text);
        if !document.held.is_empty() {
            rest = self.held(simd, rest, ends, document, workspace, out);
        }
        let done = self.stretch(simd, rest, ends, document, workspace, out);
        document.held.extend_from_slice(&rest[done..]);
        if ends {
            if self.in_blocks(document) {
                finish(&mut document.position, &mut workspace.chunk);
            } else {
                document.exact.finish(&self.tables, &mut document.position, &mut workspace.chunk);
            }
            self.template(self.suffix, document, &mut workspace.chunk);
        }
        workspace.chunk.end_isolated();
    }

    /// Whether the first pass goes by blocks: nobody asks for more than ids, and no added token is in normalized text.
    #[inline(always)]
    fn in_blocks(&self, document: &Document) -> bool {
        self.tables.added.normalized.is_empty() && !document.has_offsets()
    }

    #[inline(always)]
    fn template(&self, ids: &[u32], document: &Document, chunk: &mut Chunk) {
        ids.iter().for_each(|&id| chunk.push_token(id));
        if document.has_offsets() {
            chunk.origins.resize(chunk.len, NOWHERE);
        }
    }

    /// Decide what is held, with as much of the text behind it as that takes; gives the rest of the text.
    #[inline(never)]
    fn held<'t, S: Simd>(
        &self,
        simd: S,
        text: &'t [u8],
        ends: bool,
        document: &mut Document,
        workspace: &mut Workspace,
        out: &mut Encoded,
    ) -> &'t [u8] {
        let mut bridge = std::mem::take(&mut document.held);
        let (held, taken) = (bridge.len(), text.len().min(2 * self.reach()));
        bridge.extend_from_slice(&text[..taken]);
        let done = self.stretch(simd, &bridge, ends && taken == text.len(), document, workspace, out);
        if taken < text.len() {
            // All of it is decided, as a whole reach was behind it.
            bridge.clear();
            document.held = bridge;
            return &text[done - held..];
        }
        bridge.drain(..done);
        document.held = bridge;
        &[]
    }

    /// Add a text as far as it is decided, all of it where the document ends with it; gives the bytes that are done.
    #[inline(always)]
    fn stretch<S: Simd>(
        &self,
        simd: S,
        text: &[u8],
        ends: bool,
        document: &mut Document,
        workspace: &mut Workspace,
        out: &mut Encoded,
    ) -> usize {
        document.position.at = 0;
        document.position.decided = text.len();
        if ends {
            self.normalize(simd, text, text.len(), document, workspace, out);
            return text.len();
        }
        let raw = &self.tables.added.raw;
        // What begins before that is decided, whatever it is; only the rest is looked at closely.
        let surely = utf8::boundary(text, text.len().saturating_sub(self.reach()));
        document.position.decided = text.len().saturating_sub(raw.reach());
        self.normalize(simd, text, surely, document, workspace, out);
        let from = document.position.at.max(document.position.search.from);
        let mut decided = raw.decided(text, from);
        document.position.decided = decided;
        if let Some(key) = self.tables.rules.strings().cut_off(&text[..decided], document.position.at) {
            decided = key;
        }
        self.normalize(simd, text, decided, document, workspace, out);
        let done = document.position.at;
        document.advance(raw, text);
        done
    }

    /// Bytes at the end of a text that goes on within which something may be undecided.
    fn reach(&self) -> usize {
        self.tables.added.raw.reach() + self.tables.rules.strings().longest
    }

    /// Add a text from where the position is up to `end`.
    #[inline(never)]
    fn normalize<S: Simd>(
        &self,
        simd: S,
        text: &[u8],
        end: usize,
        document: &mut Document,
        workspace: &mut Workspace,
        out: &mut Encoded,
    ) {
        let in_blocks = self.in_blocks(document);
        loop {
            let (position, chunk) = (&mut document.position, &mut workspace.chunk);
            let stop = if in_blocks {
                simd.run(
                    #[inline(always)]
                    |simd| normalize(simd, &self.tables, text, end, position, chunk),
                )
            } else {
                document.exact.normalize(&self.tables, text, end, position, chunk)
            };
            match stop {
                Stop::End => return,
                Stop::Full => self.flush(simd, document, workspace, out),
            }
        }
    }
}
