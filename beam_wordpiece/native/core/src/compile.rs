//! A vocabulary becomes the bytes of an automaton file.

use crate::added::AddedTokens;
use crate::added_records::{self, flags};
use crate::automaton::{Automaton, Parameters};
use crate::chunk::token_word;
use crate::code_points::{CODE_POINTS, CodePointsBuf};
use crate::double_array::{DoubleArray, Packed};
use crate::error::Error;
use crate::failure::{Failure, UNKNOWN_CHARACTER};
use crate::format::{self, Section};
use crate::layout::Layout;
use crate::matching::Matching;
use crate::options::{AddedToken, MOST_CHARS_PER_WORD, MOST_UNKNOWN_COST, Options, Segmentation, Unknown, Vocabulary};
use crate::profile::Tables;
use crate::rules::{self, Rules};
use crate::sample::{Counts, Words};
use crate::transducer::{self, Transition};
use crate::trie::Trie;
use crate::unknown::byte_token;
use crate::utf8;
use crate::word_table::ID_LIMIT;
use bytemuck::cast_slice;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use xxhash_rust::xxh3::Xxh3;

/// Compile a vocabulary. The same vocabulary gives the same bytes.
pub fn compile(vocabulary: &Vocabulary) -> Result<Vec<u8>, Error> {
    compile_with_layout(vocabulary, Layout::FailureLinks)
}

/// Compile a vocabulary to a layout.
pub fn compile_with_layout(vocabulary: &Vocabulary, layout: Layout) -> Result<Vec<u8>, Error> {
    let compiled = Compiled::new(vocabulary, layout)?;
    compiled.bytes(&Words::of_vocabulary(&compiled.whole_words))
}

/// The same with a sample of text, whose frequent words are given places in the word tables. It changes how fast text is
/// split, but neither ids nor the fingerprint. The same vocabulary and sample give the same bytes. Text has to be split into
/// words.
pub fn compile_with_sample<'t>(
    vocabulary: &Vocabulary,
    layout: Layout,
    texts: impl Iterator<Item = Option<&'t [u8]>>,
) -> Result<Vec<u8>, Error> {
    if Matching::of(&vocabulary.options).is_some() {
        return Err(Error::Vocabulary(
            "a sample is about words that are looked up whole with all their pieces, which goes with pretokenize=True, \
             unknown=\"word\" and segmentation=\"greedy\" only; leave the sample out"
                .into(),
        ));
    }
    let compiled = Compiled::new(vocabulary, layout)?;
    let automaton = Automaton::from_bytes(&compiled.bytes(&Words::of_vocabulary(&compiled.whole_words))?)?;
    let counts = Counts::of(&automaton, texts)?;
    compiled.bytes(&Words::of_sample(&compiled.whole_words, &counts))
}

/// All of an automaton but its word tables.
struct Compiled<'a> {
    vocabulary: &'a Vocabulary,
    unk_id: u32,
    code_points: CodePointsBuf,
    array: DoubleArray,
    transitions: Vec<Transition>,
    nodes: usize,
    list: StoredTokens,
    /// The tokens that are whole words, see [`Reach::whole_words`], and those of the template.
    whole_words: Vec<(Vec<u8>, u32)>,
}

impl<'a> Compiled<'a> {
    fn new(vocabulary: &'a Vocabulary, layout: Layout) -> Result<Compiled<'a>, Error> {
        let options = &vocabulary.options;
        let unk_id = check(vocabulary, layout)?;
        let tables = Tables::of(options.profile);
        let reach = Reach { tables, options };
        let backward = |(token, id): &(String, u32)| (token.chars().rev().collect(), *id);
        let tokens: Cow<'_, [(String, u32)]> = match options.backward {
            true => vocabulary.tokens.iter().map(backward).collect(),
            false => Cow::Borrowed(&vocabulary.tokens),
        };
        let trie = Trie::build(&tokens, &options.continuing_subword_prefix, |text| reach.word(text));
        let matching = Matching::of(options);
        let has_words = matching.is_none();
        // Where a word that is a token is split into nothing else.
        let looks_up = matching.is_none_or(|matching| options.pretokenize && !matching.is_of_whole());
        let failure = Failure::build(&trie, if has_words { Unknown::Word } else { Unknown::Character });
        let (array, transitions) = match layout {
            Layout::FailureLinks => (DoubleArray::build(&trie, &failure), vec![]),
            Layout::Transducer => transducer::build(&trie, &failure)?,
        };
        Ok(Compiled {
            vocabulary,
            unk_id,
            code_points: CodePointsBuf::build(tables, options),
            array,
            transitions,
            nodes: trie.len(),
            list: list_tokens(&vocabulary.tokens)?,
            whole_words: if looks_up { reach.whole_words(vocabulary) } else { vec![] },
        })
    }

    /// The bytes of a file with these word tables.
    fn bytes(&self, words: &Words) -> Result<Vec<u8>, Error> {
        let Compiled { vocabulary, unk_id, code_points, array, transitions, nodes, list, .. } = self;
        let options = &vocabulary.options;
        let parameters = Parameters {
            words: words.short.shape,
            long_words: words.long.shape,
            unk_id: *unk_id,
            // In a stretch of text no word is too long, so that marks are always put in order.
            max_input_chars_per_word: if options.unknown == Unknown::Word {
                options.max_input_chars_per_word
            } else {
                MOST_CHARS_PER_WORD
            },
            suffix_root: array.suffix_root,
            code_bits: array.bits,
            split_hangul: u32::from(options.strip_accents),
            nodes: *nodes as u32,
            profile: options.profile.code(),
            stretches: Matching::of(options).map_or(0, Matching::to_bits),
        };
        let rules = Rules::new(&options.rules, code_points.view())?;
        AddedTokens::new(&vocabulary.added_tokens, &parameters, &rules, code_points.view())?;
        let (rules, rule_bytes) = rules::write(&options.rules);
        let (added, added_bytes) = added_records::write(&vocabulary.added_tokens);
        let contents: [&[u8]; Section::ALL.len()] = [
            bytemuck::bytes_of(&parameters),
            vocabulary.metadata.as_bytes(),
            &list.bytes,
            cast_slice(&list.offsets),
            cast_slice(&list.ids),
            cast_slice(&list.order),
            cast_slice(&code_points.index),
            cast_slice(&code_points.entries),
            cast_slice(&code_points.pool),
            cast_slice(&words.short.slots),
            &words.short.displacements,
            cast_slice(&words.long.slots),
            &words.long.displacements,
            cast_slice(&words.pieces),
            cast_slice(&array.code_index),
            cast_slice(&array.codes),
            cast_slice(&array.units),
            cast_slice(&array.pool),
            cast_slice(&added),
            &added_bytes,
            cast_slice(&vocabulary.prefix_ids),
            cast_slice(&vocabulary.suffix_ids),
            cast_slice(transitions),
            cast_slice(&rules),
            &rule_bytes,
        ];
        Ok(format::write(fingerprint(vocabulary, *unk_id), &contents))
    }
}

/// Refuse what cannot be compiled; give the id of the unknown token.
fn check(vocabulary: &Vocabulary, layout: Layout) -> Result<u32, Error> {
    let refuse = |message: String| Err(Error::Vocabulary(message));
    check_splitting(vocabulary)?;
    if layout == Layout::Transducer && Matching::of(&vocabulary.options).is_some() {
        return refuse(
            "layout=\"transducer\" is about words that are unknown as a whole, which there are with pretokenize=True, \
             unknown=\"word\" and segmentation=\"greedy\" only; use the layout \"failure_links\""
                .into(),
        );
    }
    let ids = vocabulary.tokens.iter().map(|(token, id)| (token, *id));
    let added = vocabulary.added_tokens.iter().map(|token| (&token.content, token.id));
    let most = match vocabulary.options.unknown {
        Unknown::CodePoint => UNKNOWN_CHARACTER - CODE_POINTS as u32,
        _ if Matching::of(&vocabulary.options).is_some() => UNKNOWN_CHARACTER,
        _ => Packed::LIMIT,
    };
    let all = ids.chain(added);
    if let Some((token, id)) = all.clone().find(|&(_, id)| id >= most) {
        return refuse(format!("token {token:?} has id {id}; ids have to be below {most}"));
    }
    let limit = vocabulary.options.max_input_chars_per_word;
    if limit > MOST_CHARS_PER_WORD {
        return refuse(format!("max_input_chars_per_word is {limit}; it has to be {MOST_CHARS_PER_WORD} at most"));
    }
    let unk_token = &vocabulary.options.unk_token;
    if unk_token.is_empty() {
        return Ok(all.map(|(_, id)| id + 1).max().unwrap_or(0));
    }
    match vocabulary.tokens.iter().find(|(token, _)| token == unk_token) {
        Some((_, id)) => Ok(*id),
        None => refuse(format!(
            "the vocabulary has no unknown token {unk_token:?}: add it, or name the one it has (unk_token)"
        )),
    }
}

/// Refuse ways to split text that there are not, and added tokens that have no meaning with them.
fn check_splitting(vocabulary: &Vocabulary) -> Result<(), Error> {
    let Options { pretokenize, unknown, backward, segmentation, unknown_cost, .. } = vocabulary.options;
    let has_indicator = !vocabulary.options.continuing_subword_prefix.is_empty();
    let refuse = |message: &str| Err(Error::Vocabulary(message.into()));
    if !pretokenize && unknown == Unknown::Word {
        return refuse(
            "pretokenize=False has no words, so unknown=\"word\" has no meaning with it; give another value",
        );
    }
    if backward && (unknown == Unknown::Word || segmentation == Segmentation::Fewest || has_indicator) {
        return refuse(
            "backward=True goes with continuing_subword_prefix=\"\", segmentation=\"greedy\" and another value of unknown \
             than \"word\" only",
        );
    }
    if !(1..=MOST_UNKNOWN_COST).contains(&unknown_cost) {
        return refuse(&format!("unknown_cost is {unknown_cost}; it has to be from 1 to {MOST_UNKNOWN_COST}"));
    }
    let byte_tokens: HashSet<String> = (0..=u8::MAX).map(byte_token).collect();
    if unknown == Unknown::Byte && !vocabulary.tokens.iter().any(|(token, _)| byte_tokens.contains(token)) {
        return refuse(
            "the vocabulary has none of the tokens <0x00> to <0xFF>, which unknown=\"byte\" is about; add them, or give \
             another value",
        );
    }
    check_rules(vocabulary)?;
    match vocabulary.added_tokens.iter().find(|token| !pretokenize && (token.lstrip || token.rstrip)) {
        None => Ok(()),
        Some(token) => Err(Error::Vocabulary(format!(
            "added token {:?} (id {}): it takes the white space beside it (lstrip or rstrip), which with pretokenize=False \
             is text like any other; add it without these flags",
            token.content, token.id
        ))),
    }
}

/// Refuse rules about white space where added tokens take white space that no rule has seen yet.
fn check_rules(vocabulary: &Vocabulary) -> Result<(), Error> {
    let tables = Tables::of(vocabulary.options.profile);
    let has_space = |text: &str| text.chars().any(|c| tables.space_character.contains(u32::from(c)));
    let rule = vocabulary.options.rules.iter().find(|(key, _)| has_space(key));
    let token = vocabulary.added_tokens.iter().find(|token| !token.normalized && (token.lstrip || token.rstrip));
    match (rule, token) {
        (Some((key, _)), Some(token)) => Err(Error::Vocabulary(format!(
            "the rule for {key:?} has white space, which the added token {:?} (id {}) takes before any rule is looked at \
             (lstrip or rstrip); leave the rule out, or add the token without these flags",
            token.content, token.id
        ))),
        _ => Ok(()),
    }
}

/// Which strings can occur in a text after normalization and word splitting.
struct Reach<'a> {
    tables: &'static Tables,
    options: &'a Options,
}

impl Reach<'_> {
    /// Whether a string can be part of a word, or is a word of its own. Text that is not split into words is one.
    fn word(&self, text: &str) -> bool {
        let alone = text.chars().nth(1).is_none();
        text.chars().map(u32::from).all(|c| {
            let splits = self.tables.whitespace.contains(c) || self.tables.punctuation.contains(c) && !alone;
            !(self.options.pretokenize && splits || self.options.strip_accents && utf8::is_hangul_syllable(c))
        })
    }

    /// The tokens that are whole words, spelled as the normalized text has them: with Hangul syllables whole. Where there
    /// are some, before them those that every text has around it, so that they are found like words.
    fn whole_words(&self, vocabulary: &Vocabulary) -> Vec<(Vec<u8>, u32)> {
        let limit =
            if self.options.unknown == Unknown::Word { self.options.max_input_chars_per_word } else { u32::MAX };
        let limit = limit as usize;
        let fits = |token: &str| !token.is_empty() && !token.contains('\0') && token.chars().count() <= limit;
        let words = vocabulary.tokens.iter().filter(|(token, _)| fits(token) && self.word(token)).map(|(token, id)| {
            let word = if self.options.strip_accents { utf8::compose_hangul(token) } else { token.clone() };
            (word.into_bytes(), *id)
        });
        let mut words: Vec<(Vec<u8>, u32)> = words.filter(|(_, id)| *id < ID_LIMIT).collect();
        if !words.is_empty() {
            let template: BTreeSet<u32> = vocabulary.prefix_ids.iter().chain(&vocabulary.suffix_ids).copied().collect();
            let template = template.into_iter().filter(|id| *id < ID_LIMIT);
            words.splice(..0, template.map(|id| (token_word(id).to_vec(), id)));
        }
        words
    }
}

/// The vocabulary as it is stored.
struct StoredTokens {
    bytes: Vec<u8>,
    offsets: Vec<u32>,
    ids: Vec<u32>,
    order: Vec<u32>,
}

fn list_tokens(tokens: &[(String, u32)]) -> Result<StoredTokens, Error> {
    let mut by_id: Vec<&(String, u32)> = tokens.iter().collect();
    by_id.sort_unstable_by_key(|(token, id)| (*id, token.as_str()));
    let mut stored = StoredTokens { bytes: vec![], offsets: vec![0], ids: vec![], order: vec![] };
    for (token, id) in &by_id {
        stored.bytes.extend_from_slice(token.as_bytes());
        let end = u32::try_from(stored.bytes.len())
            .map_err(|_| Error::Vocabulary("the vocabulary has more than 4 GiB of text".into()))?;
        stored.offsets.push(end);
        stored.ids.push(*id);
    }
    stored.order = (0..by_id.len() as u32).collect();
    stored.order.sort_unstable_by_key(|&i| by_id[i as usize].0.as_str());
    if let Some(pair) = stored.order.windows(2).find(|pair| by_id[pair[0] as usize].0 == by_id[pair[1] as usize].0) {
        return Err(Error::Vocabulary(format!("token {:?} occurs twice", by_id[pair[0] as usize].0)));
    }
    if let Some(pair) = by_id.windows(2).find(|pair| pair[0].1 == pair[1].1) {
        let (one, other, id) = (&pair[0].0, &pair[1].0, pair[0].1);
        return Err(Error::Vocabulary(format!("the tokens {one:?} and {other:?} have the same id {id}")));
    }
    Ok(stored)
}

/// A hash of all that has an influence on how a text is cut and numbered, whatever the order it was given in.
fn fingerprint(vocabulary: &Vocabulary, unk_id: u32) -> [u8; 16] {
    let options = &vocabulary.options;
    let mut hash = Xxh3::new();
    let mut text = |text: &str| {
        hash.update(&(text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    };
    text(options.profile.name());
    text(&options.continuing_subword_prefix);
    let mut tokens: Vec<&(String, u32)> = vocabulary.tokens.iter().collect();
    tokens.sort_unstable();
    for (token, id) in tokens {
        text(token);
        text(&id.to_string());
    }
    let mut added: Vec<&AddedToken> = vocabulary.added_tokens.iter().collect();
    added.sort_unstable_by_key(|token| &token.content);
    for token in added {
        text(&token.content);
        text(&format!("{} {}", token.id, flags(&AddedToken { special: false, ..token.clone() })));
    }
    let switches = [options.lowercase, options.strip_accents, options.clean_text, options.handle_chinese_chars];
    let split = if options.pretokenize { "" } else { " not split" };
    match Matching::of(options) {
        None => text(&format!("{switches:?} {unk_id} {}", options.max_input_chars_per_word)),
        Some(Matching::CHARACTERS) if !options.pretokenize => {
            text(&format!("{switches:?} {unk_id} not split, unknown characters"));
        }
        Some(matching) => {
            let limit = if options.unknown == Unknown::Word { options.max_input_chars_per_word } else { 0 };
            text(&format!("{switches:?} {unk_id}{split} {limit} {}", matching.to_bits()));
        }
    }
    let mut rules: Vec<&(String, String)> = options.rules.iter().collect();
    rules.sort_unstable();
    for (key, result) in rules {
        text(key);
        text(result);
    }
    if options.unk_token.is_empty() {
        text(&vocabulary.metadata);
    }
    text(&format!("{:?} {:?}", vocabulary.prefix_ids, vocabulary.suffix_ids));
    hash.digest128().to_be_bytes()
}
