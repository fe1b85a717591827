//! The automaton: opened from bytes or a mapped file, with everything checked that the matcher relies on.

use crate::added::AddedTokens;
use crate::added_records::{self, AddedRecord};
use crate::beginnings::Beginnings;
use crate::blocks::BlockTables;
use crate::code_points::{CODE_POINTS, CodePoints};
use crate::double_array::{Codes, Packed, Unit};
use crate::error::Error;
use crate::format::{AlignedBytes, Layout, Section};
use crate::matching::Matching;
use crate::options::{AddedToken, MOST_CHARS_PER_WORD, Profile, Unknown};
use crate::rules::{self, Rules};
use crate::several;
use crate::starts::Starts;
use crate::tokens::TokenList;
use crate::transducer::{Transition, count_transitions};
use crate::unknown::byte_tokens;
use crate::validate::validate_layout;
use crate::word_table::{Shape, WordTable};
use bytemuck::{AnyBitPattern, Pod, Zeroable};
use std::path::Path;

/// Numbers of an automaton, as they are stored.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Parameters {
    /// Hashes of the table of words of up to 13 bytes.
    pub words: Shape,
    /// Hashes of the table of words of 14 to 29 bytes.
    pub long_words: Shape,
    /// Id of the unknown token.
    pub unk_id: u32,
    /// A word of more code points is unknown.
    pub max_input_chars_per_word: u32,
    /// Unit of the suffix root.
    pub suffix_root: u32,
    /// Codes are below 2^bits.
    pub code_bits: u32,
    /// Hangul syllables are split into jamo before they are matched (strip_accents).
    pub split_hangul: u32,
    /// Nodes of the trie, for people.
    pub nodes: u32,
    /// Code of the profile.
    pub profile: u32,
    /// How words or stretches of text are matched, see [`Matching`]; 0 where that is BERT's way.
    pub stretches: u32,
}

impl Parameters {
    /// Whether words, or all that lies between added tokens, are matched as stretches of text.
    #[inline(always)]
    pub fn has_stretches(&self) -> bool {
        self.stretches != 0
    }

    /// How that is done; None where it is not, or in no known way.
    pub fn matching(&self) -> Option<Matching> {
        if self.stretches == 0 { None } else { Matching::from_bits(self.stretches) }
    }
}

/// The tables as the matcher sees them.
#[derive(Debug, Clone, Copy)]
pub struct Tables<'a> {
    /// What becomes of each code point.
    pub code_points: CodePoints<'a>,
    /// The same where no rule is about it.
    pub without_rules: CodePoints<'a>,
    /// Rules, of characters and of strings.
    pub rules: &'a Rules,
    /// Words of up to 13 bytes.
    pub words: WordTable<'a, 2>,
    /// Words of 14 to 29 bytes.
    pub long_words: WordTable<'a, 4>,
    /// Pieces of the words in both that have several.
    pub pieces: &'a [u32],
    /// The double array; empty where there are transitions.
    pub units: &'a [Unit],
    /// The transitions of the transducer, where the automaton has that layout.
    pub transitions: &'a [Transition],
    /// Tokens of failure pops.
    pub pops: &'a [u32],
    /// Codes of code points.
    pub codes: Codes<'a>,
    /// With which characters a token begins.
    pub beginnings: &'a Beginnings,
    /// Numbers.
    pub parameters: &'a Parameters,
    /// The code points in the form that blocks of text are looked up in.
    pub blocks: &'a BlockTables,
    /// Where two characters lead.
    pub starts: &'a Starts,
    /// What is found before words are.
    pub added: &'a AddedTokens,
    /// The ids of the tokens of bytes, where these stand for unknown characters; otherwise empty.
    pub byte_tokens: &'a [u32],
}

enum Storage {
    Mapped(memmap2::Mmap),
    Owned(AlignedBytes),
}

/// A compiled vocabulary.
pub struct Automaton {
    storage: Storage,
    layout: Layout,
    rules: Rules,
    blocks: BlockTables,
    starts: Starts,
    added: AddedTokens,
    byte_tokens: Vec<u32>,
    beginnings: Beginnings,
    has_words: bool,
}

impl Automaton {
    /// Open a file and map it. The file must not be written to while it is open: replace it by renaming another over
    /// it, which leaves the mapped one alone. Otherwise ids may be wrong, calls may panic, and a file that is cut off ends
    /// the process.
    pub fn open(path: &Path) -> Result<Automaton, OpenError> {
        let file = std::fs::File::open(path).map_err(OpenError::Io)?;
        if file.metadata().map_err(OpenError::Io)?.len() == 0 {
            return Err(OpenError::Automaton(Error::Automaton("the automaton file is empty".into())));
        }
        // SAFETY: that nobody writes to the file is the caller's part of the contract, see above. No index that is read
        // from it is used without a bound.
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(OpenError::Io)?;
        Automaton::new(Storage::Mapped(map)).map_err(OpenError::Automaton)
    }

    /// Take the content of a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Automaton, Error> {
        Automaton::new(Storage::Owned(AlignedBytes::copy(bytes)))
    }

    fn new(storage: Storage) -> Result<Automaton, Error> {
        let bytes = storage.as_slice();
        let layout = Layout::read(bytes)?;
        let damaged = |what: String| Error::Automaton(format!("the automaton file is damaged: {what}"));
        let parts = Parts { bytes, layout: &layout };
        parts.validate().map_err(damaged)?;
        let code_points = parts.code_points().map_err(damaged)?;
        let added_tokens = parts.added_tokens().map_err(damaged)?;
        let parameters = parts.parameters().map_err(damaged)?;
        let rules = Rules::new(&parts.rules().map_err(damaged)?, code_points);
        let rules = rules.map_err(|fault| damaged(fault.to_string()))?;
        let added = AddedTokens::new(&added_tokens, parameters, &rules, code_points);
        let added = added.map_err(|fault| damaged(fault.to_string()))?;
        let begins = |byte| added.raw.contents.begin_with(byte) || rules.strings().begin_with(byte);
        let blocks = BlockTables::new(rules.code_points(code_points), code_points, begins);
        let unknown = parameters.matching().map_or(Unknown::Word, |matching| matching.unknown);
        let byte_tokens = byte_tokens(&parts.tokens().map_err(damaged)?, unknown);
        let (units, transitions) = parts.trie().map_err(damaged)?;
        let beginnings = Beginnings::new(units, transitions, parts.codes().map_err(damaged)?, parameters);
        let (starts, has_words) = (Starts::default(), false);
        let mut automaton =
            Automaton { layout, rules, blocks, starts, added, byte_tokens, beginnings, storage, has_words };
        let tables = automaton.tables();
        automaton.has_words = !tables.words.is_empty() || !tables.long_words.is_empty();
        Ok(automaton)
    }

    fn parts(&self) -> Parts<'_> {
        Parts { bytes: self.storage.as_slice(), layout: &self.layout }
    }

    /// The content of the file.
    pub fn as_bytes(&self) -> &[u8] {
        self.storage.as_slice()
    }

    /// The fingerprint of the meaning: equal for automata that tokenize alike.
    pub fn fingerprint(&self) -> [u8; 16] {
        self.layout.fingerprint
    }

    /// Name and bytes of every section.
    pub fn sections(&self) -> Vec<(&'static str, usize)> {
        self.layout.sections().iter().map(|&section| (section.name(), self.layout.range(section).len())).collect()
    }

    /// What is in it, counted.
    pub fn statistics(&self) -> [(&'static str, usize); 11] {
        let tables = self.tables();
        [
            ("tokens", self.tokens().len()),
            ("added_tokens", self.added_tokens().len()),
            ("nodes", tables.parameters.nodes as usize),
            ("units", tables.units.len().max(tables.transitions.len())),
            ("transitions", count_transitions(tables.transitions)),
            ("failure_pops", tables.pops.len()),
            ("word_slots", tables.words.slots.len()),
            ("long_word_slots", tables.long_words.slots.len()),
            ("sampled_words", tables.words.several() + tables.long_words.several()),
            ("unk_id", tables.parameters.unk_id as usize),
            ("bytes", self.as_bytes().len()),
        ]
    }

    /// Whether there are words that can be looked up whole.
    pub fn has_words(&self) -> bool {
        self.has_words
    }

    /// Whether there are texts that it refuses, beside those that are not UTF-8.
    pub fn refuses_text(&self) -> bool {
        let matching = self.tables().parameters.matching();
        matching.is_some_and(|matching| matching.unknown == Unknown::Error || matching.is_of_whole())
    }

    /// Id of the unknown token.
    pub fn unk_id(&self) -> u32 {
        self.tables().parameters.unk_id
    }

    /// The tables.
    pub fn tables(&self) -> Tables<'_> {
        self.parts().tables(self).expect("checked when the automaton was opened")
    }

    /// The text that was stored beside.
    pub fn metadata(&self) -> &str {
        let bytes = &self.storage.as_slice()[self.layout.range(Section::Metadata)];
        std::str::from_utf8(bytes).expect("checked when the automaton was opened")
    }

    /// Ids before and after a single text.
    pub fn template(&self) -> (&[u32], &[u32]) {
        let parts = self.parts();
        let ids = |section| parts.slice(section).expect("checked when the automaton was opened");
        (ids(Section::PrefixIds), ids(Section::SuffixIds))
    }

    /// Added tokens.
    pub fn added_tokens(&self) -> Vec<AddedToken> {
        self.parts().added_tokens().expect("checked when the automaton was opened")
    }

    /// The token of an id, an added one first, see [`AddedTokens::name`].
    pub fn token(&self, id: u32) -> Option<&str> {
        self.added.name(id).or_else(|| self.tokens().token(id))
    }

    /// The id of a token, of an added one first.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.added.id(token).or_else(|| self.tokens().id(token))
    }

    /// The tokens of the vocabulary.
    pub fn tokens(&self) -> TokenList<'_> {
        self.parts().tokens().expect("checked when the automaton was opened")
    }
}

/// Why a file could not be opened.
#[derive(Debug)]
pub enum OpenError {
    /// The file cannot be read.
    Io(std::io::Error),
    /// It is not an automaton that can be run.
    Automaton(Error),
}

impl Storage {
    fn as_slice(&self) -> &[u8] {
        match self {
            Storage::Mapped(map) => map,
            Storage::Owned(bytes) => bytes.as_slice(),
        }
    }
}

/// The bytes of a file and where its sections are.
struct Parts<'a> {
    bytes: &'a [u8],
    layout: &'a Layout,
}

impl<'a> Parts<'a> {
    fn slice<T: AnyBitPattern>(&self, section: Section) -> Result<&'a [T], String> {
        let bytes = &self.bytes[self.layout.range(section)];
        bytemuck::try_cast_slice(bytes).map_err(|_| format!("the section {:?} has a wrong size", section.name()))
    }

    fn parameters(&self) -> Result<&'a Parameters, String> {
        match self.slice(Section::Parameters)? {
            [parameters] => Ok(parameters),
            _ => Err("the parameters have a wrong size".into()),
        }
    }

    fn code_points(&self) -> Result<CodePoints<'a>, String> {
        Ok(CodePoints {
            index: self.slice(Section::CodePointIndex)?,
            entries: self.slice(Section::CodePointEntries)?,
            pool: self.slice(Section::CodePointPool)?,
        })
    }

    fn tables(&self, automaton: &'a Automaton) -> Result<Tables<'a>, String> {
        let (parameters, code_points) = (self.parameters()?, self.code_points()?);
        let (units, transitions) = self.trie()?;
        Ok(Tables {
            code_points: automaton.rules.code_points(code_points),
            without_rules: code_points,
            rules: &automaton.rules,
            words: WordTable::new(
                parameters.words,
                self.slice(Section::WordSlots)?,
                self.slice(Section::WordDisplacements)?,
            )?,
            long_words: WordTable::new(
                parameters.long_words,
                self.slice(Section::LongWordSlots)?,
                self.slice(Section::LongWordDisplacements)?,
            )?,
            pieces: self.slice(Section::WordPieces)?,
            units,
            transitions,
            pops: self.slice(Section::Pops)?,
            codes: self.codes()?,
            beginnings: &automaton.beginnings,
            parameters,
            blocks: &automaton.blocks,
            starts: &automaton.starts,
            added: &automaton.added,
            byte_tokens: &automaton.byte_tokens,
        })
    }

    fn codes(&self) -> Result<Codes<'a>, String> {
        let bits = self.parameters()?.code_bits;
        if !(1..=24).contains(&bits) {
            return Err("the codes have an impossible number of bits".into());
        }
        Ok(Codes { index: self.slice(Section::CodeIndex)?, codes: self.slice(Section::Codes)?, mask: (1 << bits) - 1 })
    }

    /// The double array in either layout; the other one is empty.
    fn trie(&self) -> Result<(&'a [Unit], &'a [Transition]), String> {
        Ok((self.slice(Section::Units)?, self.slice(Section::Transitions)?))
    }

    fn tokens(&self) -> Result<TokenList<'a>, String> {
        Ok(TokenList {
            bytes: self.slice(Section::TokenBytes)?,
            offsets: self.slice(Section::TokenOffsets)?,
            ids: self.slice(Section::TokenIds)?,
            order: self.slice(Section::TokenOrder)?,
        })
    }

    fn rules(&self) -> Result<Vec<(String, String)>, String> {
        rules::read(self.slice(Section::Rules)?, self.slice(Section::RuleBytes)?)
    }

    fn added_tokens(&self) -> Result<Vec<AddedToken>, String> {
        added_records::read(self.slice(Section::AddedTokens)?, self.slice(Section::AddedTokenBytes)?)
    }

    /// Check all that is relied on later without looking.
    fn validate(&self) -> Result<(), String> {
        let parameters = self.parameters()?;
        Profile::from_code(parameters.profile).ok_or("its profile is not known")?;
        self.code_points()?.validate()?;
        std::str::from_utf8(self.slice(Section::Metadata)?).map_err(|_| "the metadata is not UTF-8")?;
        self.tokens()?.validate()?;
        self.validate_ids(parameters)?;
        let known = !parameters.has_stretches() || parameters.matching().is_some();
        if parameters.max_input_chars_per_word > MOST_CHARS_PER_WORD || !known {
            return Err("its word limit is too large, or its way to split text is not known".into());
        }
        let slots = self.slice(Section::WordSlots)?;
        WordTable::<2>::new(parameters.words, slots, self.slice(Section::WordDisplacements)?)?;
        let slots = self.slice(Section::LongWordSlots)?;
        WordTable::<4>::new(parameters.long_words, slots, self.slice(Section::LongWordDisplacements)?)?;
        several::validate(self.slice(Section::WordPieces)?, |id| id < Packed::LIMIT)?;
        let (units, transitions) = self.trie()?;
        validate_layout(units, transitions, self.slice(Section::Pops)?, &self.codes()?, parameters)
    }

    fn validate_ids(&self, parameters: &Parameters) -> Result<(), String> {
        let records: &[AddedRecord] = self.slice(Section::AddedTokens)?;
        let has_code_points = parameters.matching().is_some_and(|matching| matching.unknown == Unknown::CodePoint);
        let fits = |ids: &[u32]| ids.iter().all(|&id| id < Packed::LIMIT);
        let all_fit = fits(self.slice(Section::PrefixIds)?)
            && fits(self.slice(Section::SuffixIds)?)
            && fits(self.slice(Section::TokenIds)?)
            && fits(&[parameters.unk_id])
            && (!has_code_points || parameters.unk_id < Packed::LIMIT - CODE_POINTS as u32)
            && records.iter().all(|record| fits(&[record.id]));
        all_fit.then_some(()).ok_or_else(|| "an id is out of range".into())
    }
}
