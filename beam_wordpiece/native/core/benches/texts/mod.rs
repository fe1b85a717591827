//! Made text and a made vocabulary for measurements: the same bytes on every machine, from a seed.

use wordpiece::automaton::Automaton;
use wordpiece::compile::compile;
use wordpiece::encoder::{EncodeOptions, Encoded, Workspace, encode};
use wordpiece::options::{Options, Profile, Segmentation, Unknown, Vocabulary};
use wordpiece::simd::Level;

/// Pseudo-random numbers (SplitMix64).
pub struct Numbers(u64);

impl Numbers {
    /// The next number.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`.
    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// True once in `times`.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of them.
    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// One of them, the first ones far more often than the last: with many, like words of a language.
    fn frequent<'t>(&mut self, all: &'t [String]) -> &'t str {
        // The square root of the inverse rank, roughly: the logarithm of the rank is uniform.
        let bits = usize::BITS - all.len().leading_zeros();
        let span = 1 << (1 + self.below(bits as usize));
        &all[self.below(all.len().min(span))]
    }
}

const SYLLABLES: &[&str] = &[
    "a", "be", "con", "der", "en", "fi", "gra", "ho", "in", "je", "ka", "lo", "men", "no", "ous", "pre", "qui", "re",
    "sta", "ti", "un", "ver", "wa", "ex", "ly", "zo",
];
const CYRILLIC: &[&str] = &["ба", "ве", "го", "де", "жи", "за", "ко", "ле", "мо", "на", "по", "ре", "ст", "то", "ще"];
const IDEOGRAPHS: std::ops::Range<u32> = 0x4E00..0x5600;
const SIGNS: &[&str] = &["é", "Ü", "ñ", "e\u{301}", "ß", "œ", "…", "“", "😀"];
const PUNCTUATION: &[u8] = b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

/// The words and endings that the vocabulary is made of and prose is written with, most frequent first.
pub struct Language {
    words: Vec<String>,
    cyrillic: Vec<String>,
    endings: Vec<String>,
}

impl Language {
    /// The only one that there is.
    pub fn made() -> Language {
        let mut numbers = Numbers(2021);
        Language {
            words: made_words(&mut numbers, SYLLABLES, 8_000, 4),
            cyrillic: made_words(&mut numbers, CYRILLIC, 3_000, 4),
            endings: made_words(&mut numbers, SYLLABLES, 1_000, 3),
        }
    }

    /// An uncased vocabulary of some 15,000 tokens: words, endings, and characters alone and inside words.
    pub fn vocabulary(&self) -> Vocabulary {
        let letters = ('a'..='z').chain('0'..='9').chain('а'..='я').chain("ßœ…“😀".chars()).map(String::from);
        let inside = letters.clone().chain(self.endings.iter().cloned()).map(|ending| format!("##{ending}"));
        let ideographs = IDEOGRAPHS.filter_map(char::from_u32).map(String::from);
        let punctuation = PUNCTUATION.iter().map(|&byte| char::from(byte).to_string());
        let words = self.words.iter().chain(&self.cyrillic).cloned();
        let mut tokens = vec!["[UNK]".to_string()];
        tokens.extend(letters.chain(inside).chain(ideographs).chain(punctuation).chain(words));
        let mut seen = std::collections::HashSet::new();
        tokens.retain(|token| seen.insert(token.clone()));
        let options = Options {
            profile: Profile::Hf,
            lowercase: true,
            strip_accents: true,
            clean_text: true,
            handle_chinese_chars: true,
            unk_token: "[UNK]".into(),
            continuing_subword_prefix: "##".into(),
            max_input_chars_per_word: 100,
            pretokenize: true,
            unknown: Unknown::Word,
            backward: false,
            segmentation: Segmentation::Greedy,
            rules: vec![],
            unknown_cost: 1,
        };
        let tokens = tokens.into_iter().zip(0..).collect();
        Vocabulary {
            tokens,
            added_tokens: vec![],
            prefix_ids: vec![1],
            suffix_ids: vec![2],
            options,
            metadata: String::new(),
        }
    }

    /// The bytes of the automaton file of the vocabulary.
    pub fn automaton(&self) -> Vec<u8> {
        compile(&self.vocabulary()).expect("the vocabulary is made so that it can be compiled")
    }

    /// Texts of a kind, each of about `length` bytes, `bytes` in all or a little more.
    pub fn texts(&self, kind: Kind, length: usize, bytes: usize) -> Vec<String> {
        let mut numbers = Numbers(kind as u64 + 1);
        let mut total = 0;
        let mut texts = Vec::new();
        while total < bytes {
            let mut text = String::new();
            while text.len() < length {
                self.add_word(kind, &mut numbers, &mut text);
            }
            total += text.len();
            texts.push(text);
        }
        texts
    }

    /// One word of a kind of text, with what stands before the next one.
    fn add_word(&self, kind: Kind, numbers: &mut Numbers, text: &mut String) {
        match kind {
            Kind::Prose => self.add_prose(numbers, text),
            Kind::Identifiers => {
                let characters = b"abcdefghijklmnopqrstuvwxyz0123456789";
                let length = 6 + numbers.below(19);
                text.extend((0..length).map(|_| char::from(numbers.pick(characters))));
                text.push(' ');
            }
            Kind::Cyrillic => {
                let word = numbers.frequent(&self.cyrillic);
                text.push_str(&if numbers.once_in(10) { word.to_uppercase() } else { word.to_string() });
                text.push_str(if numbers.once_in(8) { ", " } else { " " });
            }
            Kind::Ideographs => text.extend(char::from_u32(IDEOGRAPHS.start + numbers.below(IDEOGRAPHS.len()) as u32)),
            Kind::Accents => {
                text.push_str(if numbers.once_in(4) { numbers.pick(SIGNS) } else { "" });
                self.add_prose(numbers, text);
            }
            Kind::Punctuation => text.push(char::from(numbers.pick(PUNCTUATION))),
        }
    }

    /// A word of prose: one in twenty has an ending that the vocabulary lacks, one in nine a capital letter.
    fn add_prose(&self, numbers: &mut Numbers, text: &mut String) {
        let start = text.len();
        text.push_str(numbers.frequent(&self.words));
        if numbers.once_in(20) {
            text.push_str(numbers.frequent(&self.endings));
        }
        if numbers.once_in(9) {
            text[start..=start].make_ascii_uppercase();
        }
        text.push_str(numbers.pick(&[" ", " ", " ", " ", " ", " ", " ", ", ", ". ", "\n"]));
    }
}

/// How many ids these texts have, and how many of them are the unknown token's.
#[allow(dead_code, reason = "not every program that includes this module counts")]
pub fn count_ids(automaton: &Automaton, texts: &[String]) -> (usize, usize) {
    let level = Level::detect().expect("no level is forced that this processor lacks");
    let options = EncodeOptions { add_special_tokens: false, strict: false, level };
    let texts = texts.iter().map(|text| Some(text.as_bytes()));
    let mut out = Encoded::default();
    encode(automaton, texts, &options, &mut Workspace::default(), &mut out).expect("not strict");
    (out.ids.len(), out.ids.iter().filter(|&&id| id == automaton.unk_id()).count())
}

/// Kinds of text that take different ways through the matcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Words of the vocabulary, mostly.
    Prose,
    /// Random letters and digits, which no vocabulary holds: the walk.
    Identifiers,
    /// Letters of two bytes with cases.
    Cyrillic,
    /// Characters of three bytes, each a word.
    Ideographs,
    /// Prose with letters that become others, marks and symbols: blocks that are not pure.
    Accents,
    /// Signs, each a word.
    Punctuation,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 6] =
        [Kind::Prose, Kind::Identifiers, Kind::Cyrillic, Kind::Ideographs, Kind::Accents, Kind::Punctuation];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Prose => "prose",
            Kind::Identifiers => "identifiers",
            Kind::Cyrillic => "cyrillic",
            Kind::Ideographs => "ideographs",
            Kind::Accents => "accents",
            Kind::Punctuation => "punctuation",
        }
    }
}

/// `count` different words of one to `most` of these syllables, few of them first.
fn made_words(numbers: &mut Numbers, syllables: &[&str], count: usize, most: usize) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    let mut words = Vec::with_capacity(count);
    for attempt in 0.. {
        // The more words there are, the longer the next one: frequent words are short.
        let length = 1 + numbers.below(most).min(attempt * most / count);
        let word: String = (0..length).map(|_| numbers.pick(syllables)).collect();
        if seen.insert(word.clone()) {
            words.push(word);
        }
        if words.len() == count {
            break;
        }
    }
    words
}
