//! What a vocabulary is compiled for.

use crate::error::Error;

/// Whose behaviour the automaton has: the name of a set of frozen code point tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// HuggingFace `tokenizers` 0.23.3.
    Hf,
}

impl Profile {
    /// The profile of this name.
    pub fn named(name: &str) -> Result<Profile, Error> {
        match name {
            "hf" => Ok(Profile::Hf),
            _ => Err(Error::Vocabulary(format!("profile {name:?} is not known; the profiles are \"hf\""))),
        }
    }

    /// The number that stands for it in a file.
    pub fn code(self) -> u32 {
        match self {
            Profile::Hf => 1,
        }
    }

    /// The profile with this number.
    pub fn from_code(code: u32) -> Option<Profile> {
        [Profile::Hf].into_iter().find(|profile| profile.code() == code)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Hf => "hf",
        }
    }
}

/// What is unknown where no token is found, and what stands for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// The whole word, as in BERT.
    Word,
    /// The character that begins no token where it stands.
    Character,
    /// All such characters of a word or stretch that stand side by side, together.
    Run,
    /// The character, for which the tokens of its bytes stand where the vocabulary has them all (`<0x00>` to `<0xFF>`).
    Byte,
    /// The character, and it is an error.
    Error,
    /// The character, by an id of its own: that of the unknown token, and its code point more.
    CodePoint,
}

impl Unknown {
    /// All of them, with their names.
    const NAMED: [(&'static str, Unknown); 6] = [
        ("word", Unknown::Word),
        ("character", Unknown::Character),
        ("run", Unknown::Run),
        ("byte", Unknown::Byte),
        ("error", Unknown::Error),
        ("code_point", Unknown::CodePoint),
    ];

    /// What has this name.
    pub fn named(name: &str) -> Result<Unknown, Error> {
        named(name, "unknown", &Unknown::NAMED)
    }
}

/// Which of the ways to split a word or a stretch is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segmentation {
    /// The longest token, again and again: MaxMatch.
    Greedy,
    /// One with the fewest tokens.
    Fewest,
}

impl Segmentation {
    const NAMED: [(&'static str, Segmentation); 2] =
        [("greedy", Segmentation::Greedy), ("fewest", Segmentation::Fewest)];

    /// What has this name.
    pub fn named(name: &str) -> Result<Segmentation, Error> {
        named(name, "segmentation", &Segmentation::NAMED)
    }
}

/// The value of an option that has this name.
fn named<T: Copy>(name: &str, option: &str, values: &[(&str, T)]) -> Result<T, Error> {
    let names: Vec<String> = values.iter().map(|(name, _)| format!("{name:?}")).collect();
    let found = values.iter().find(|(other, _)| *other == name).map(|&(_, value)| value);
    found.ok_or_else(|| Error::Vocabulary(format!("{option} is {name:?}; it has to be one of {}", names.join(", "))))
}

/// `max_input_chars_per_word` is at most this, so that positions in a chunk fit 32 bits.
pub const MOST_CHARS_PER_WORD: u32 = 1 << 24;

/// `unknown_cost` is at most this: 16 bits.
pub const MOST_UNKNOWN_COST: u32 = (1 << 16) - 1;

/// The options of BertNormalizer and WordPiece, resolved (nothing follows something else any more).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The frozen tables to use.
    pub profile: Profile,
    /// Map every character to its lower case.
    pub lowercase: bool,
    /// Decompose (NFD) and drop the nonspacing marks.
    pub strip_accents: bool,
    /// Drop control characters and turn white space into spaces.
    pub clean_text: bool,
    /// Make every ideograph a word of its own.
    pub handle_chinese_chars: bool,
    /// The token of a word that cannot be split. Where it is empty there is none, so that a token may have any text: what is
    /// unknown has the first id behind those of all tokens, and the metadata is part of the meaning.
    pub unk_token: String,
    /// The suffix indicator of the paper: what a token that continues a word begins with; may be empty.
    pub continuing_subword_prefix: String,
    /// A word of more code points, after normalization, is unknown.
    pub max_input_chars_per_word: u32,
    /// Split text into words first. Otherwise all text between added tokens is matched as it is, white space included.
    pub pretokenize: bool,
    /// What is unknown; with [`Unknown::Word`] text has to be split into words.
    pub unknown: Unknown,
    /// Match from the end: the longest suffix, again and again. Only with an empty suffix indicator.
    pub backward: bool,
    /// Which split is taken.
    pub segmentation: Segmentation,
    /// Transformation rules: strings of the text, and what stands for each before anything else is done. See
    /// [`crate::rules`].
    pub rules: Vec<(String, String)>,
    /// So many tokens an unknown character counts as, where the fewest are wanted: 1 to [`MOST_UNKNOWN_COST`].
    pub unknown_cost: u32,
}

/// A token that is found in the text before words are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedToken {
    /// What it looks like in the text.
    pub content: String,
    /// Its id.
    pub id: u32,
    /// Decoding may leave it out.
    pub special: bool,
    /// It must not touch a word character on either side.
    pub single_word: bool,
    /// It takes the white space before it.
    pub lstrip: bool,
    /// It takes the white space after it.
    pub rstrip: bool,
    /// It is looked for in the normalized text, itself normalized; otherwise in the text as it is.
    pub normalized: bool,
}

/// All that an automaton is made of.
#[derive(Debug, Clone)]
pub struct Vocabulary {
    /// Tokens with their ids; no token occurs twice.
    pub tokens: Vec<(String, u32)>,
    /// Tokens that are found before words are.
    pub added_tokens: Vec<AddedToken>,
    /// What the template puts before a single text.
    pub prefix_ids: Vec<u32>,
    /// What the template puts after a single text.
    pub suffix_ids: Vec<u32>,
    /// How text is normalized and words are split.
    pub options: Options,
    /// Free text that is stored beside and has no influence.
    pub metadata: String,
}
