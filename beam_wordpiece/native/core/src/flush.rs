//! From the words of a chunk to their ids: passes two to four, and what takes their place where words or all of a text are
//! stretches.

use crate::document::Document;
use crate::encoder::{Job, Workspace};
use crate::matching::Matching;
use crate::merge::{MARGIN, merge};
use crate::options::Unknown;
use crate::rows::Encoded;
use crate::simd::Simd;
use crate::stretch::Stretch;
use crate::unknown::{Fault, Sink};
use crate::unknown_words::replace_unknown;

impl Job<'_> {
    /// Match the complete words of the chunk and append their ids.
    #[inline(always)]
    pub fn flush<S: Simd>(&self, simd: S, document: &mut Document, workspace: &mut Workspace, out: &mut Encoded) {
        let Some(matching) = &self.matching else {
            return self.flush_words(simd, workspace, out);
        };
        let rows_before = workspace.rows_before;
        workspace.chunk.end_isolated();
        let origins = document.has_offsets() || !workspace.chunk.origins.is_empty();
        // Of a part without a complete word there is nothing to look up.
        let one_machine =
            matching.is_of_whole() || origins || self.automaton.has_words() && workspace.chunk.words() == 0;
        let flushed = if one_machine {
            self.flush_stretches(matching, document, workspace, out)
        } else if self.automaton.has_words() {
            self.flush_words_by_characters(simd, matching, document, workspace, out)
        } else {
            self.flush_segments(simd, matching, document, workspace, out)
        };
        workspace.row_ends.clear();
        if let Err((row, fault)) = flushed {
            // The call fails, and what is there of the text is of no use.
            workspace.fault.get_or_insert_with(|| fault.in_row(row - rows_before));
            document.stretch = Stretch::default();
            workspace.chunk.clear();
        }
    }

    /// Stretches one after the other. An error has the row.
    #[inline(never)]
    fn flush_stretches(
        &self,
        matching: &Matching,
        document: &mut Document,
        workspace: &mut Workspace,
        out: &mut Encoded,
    ) -> Result<(), (usize, Fault)> {
        let Workspace { chunk, row_ends, whole, .. } = workspace;
        let undecided = document
            .stretch
            .run_chunk(&self.tables, matching, chunk, row_ends, whole, out)
            .map_err(|fault| (out.ends.len(), fault))?;
        if matching.unknown == Unknown::Word {
            // One that is too long is unknown.
            chunk.carry_open_word(self.longest_word());
        } else {
            chunk.carry(undecided);
        }
        Ok(())
    }

    /// Stretches in segments, where there are lanes and so many segments.
    #[inline(never)]
    fn flush_segments<S: Simd>(
        &self,
        simd: S,
        matching: &Matching,
        document: &mut Document,
        workspace: &mut Workspace,
        out: &mut Encoded,
    ) -> Result<(), (usize, Fault)> {
        let Workspace { chunk, row_ends, pieces, segments, .. } = workspace;
        let tables = &self.tables;
        if S::LANES == 1 || !segments.cut(tables, &document.stretch, chunk, S::LANES) {
            return self.flush_stretches(matching, document, workspace, out);
        }
        simd.run(
            #[inline(always)]
            |simd| segments.walk(simd, tables, chunk, pieces),
        );
        let stretch = &mut document.stretch;
        let mut sink = Sink::new(tables, chunk, matching.unknown, stretch.run.take(), out);
        let undecided = segments.join(stretch, pieces, row_ends, &mut sink);
        let undecided = undecided.map_err(|fault| (out.ends.len(), fault))?;
        chunk.carry(undecided);
        Ok(())
    }

    /// Words, of which a stretch may have begun the first and the last may be open.
    #[inline(never)]
    fn flush_words_by_characters<S: Simd>(
        &self,
        simd: S,
        matching: &Matching,
        document: &mut Document,
        workspace: &mut Workspace,
        out: &mut Encoded,
    ) -> Result<(), (usize, Fault)> {
        self.look_up(simd, workspace, out);
        let Workspace { chunk, lookup, pieces, row_ends, .. } = workspace;
        let (tables, stretch) = (&self.tables, &mut document.stretch);
        let row_of =
            |out: &Encoded, word: usize| out.ends.len() + row_ends.iter().filter(|&&end| end as usize <= word).count();
        let mut first = 0;
        if let Some(begun) = chunk.word(0).filter(|_| *stretch != Stretch::default()) {
            stretch.run_part(tables, matching, chunk, begun, true, out).map_err(|fault| (row_of(out, 0), fault))?;
            (first, lookup.missed[0]) = (1, lookup.missed[0] & !1);
        }
        simd.run(
            #[inline(always)]
            |simd| pieces.run_by_characters(simd, tables, chunk, lookup),
        );
        out.unknowns += replace_unknown(tables, matching.unknown, chunk, pieces)
            .map_err(|(word, fault)| (row_of(out, word), fault))?;
        simd.run(
            #[inline(always)]
            |_| merge(lookup, first..chunk.words(), pieces, tables.parameters.unk_id, row_ends, out),
        );
        let open = chunk.open_range().map(|open| stretch.run_part(tables, matching, chunk, open, false, out));
        let undecided = open.transpose().map_err(|fault| (out.ends.len(), fault))?;
        chunk.carry(undecided);
        Ok(())
    }

    /// Look the words up, while the lines are on their way where their ids will be written.
    #[inline(always)]
    fn look_up<S: Simd>(&self, simd: S, workspace: &mut Workspace, out: &mut Encoded) {
        let Workspace { chunk, lookup, .. } = workspace;
        out.ids.reserve(2 * chunk.words() + MARGIN);
        let room: &[u8] = bytemuck::cast_slice(&out.ids);
        for line in (0..4 * chunk.words()).step_by(64) {
            simd.prefetch(room, room.len() + line);
        }
        simd.run(
            #[inline(always)]
            |simd| simd.look_up(&self.tables, chunk, lookup),
        );
    }

    #[inline(never)]
    fn flush_words<S: Simd>(&self, simd: S, workspace: &mut Workspace, out: &mut Encoded) {
        workspace.chunk.end_isolated();
        self.look_up(simd, workspace, out);
        let Workspace { chunk, lookup, pieces, row_ends, counts, .. } = workspace;
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
            |_| merge(lookup, 0..chunk.words(), pieces, unk_id, row_ends, out),
        );
        row_ends.clear();
        if !chunk.origins.is_empty() {
            out.offsets.add(&self.tables, &self.automaton.tokens(), chunk, pieces);
        }
        chunk.carry_open_word(self.longest_word());
    }

    /// Four bytes a character at most: so many bytes have more characters than a word may.
    fn longest_word(&self) -> usize {
        4 * self.tables.parameters.max_input_chars_per_word as usize
    }
}
