//! Encodes made text at one level of vector instructions, for a program that counts instructions: each kind of text in
//! one call of `measured`. Prints a line of kind and bytes for each call.
//!
//! Usage: `instructions LEVEL`, where LEVEL is `portable`, `avx2` or `avx512`.

#[path = "../benches/texts/mod.rs"]
mod texts;

use std::process::ExitCode;
use texts::{Kind, Language};
use wordpiece::automaton::Automaton;
use wordpiece::encoder::{EncodeOptions, Encoded, Workspace, encode};
use wordpiece::simd::Level;

/// Bytes of a call: instructions are counted, so there is no need for more than a few chunks.
const BYTES: usize = 100_000;

fn main() -> ExitCode {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let available = Level::available();
    let Some(&level) = available.iter().find(|level| level.name() == wanted) else {
        let names: Vec<&str> = available.iter().map(|level| level.name()).collect();
        eprintln!("usage: instructions LEVEL; this processor has the levels {}, not {wanted:?}", names.join(", "));
        return ExitCode::FAILURE;
    };
    let language = Language::made();
    let automaton = Automaton::from_bytes(&language.automaton()).expect("just compiled");
    let options = EncodeOptions { add_special_tokens: true, strict: false, level };
    for kind in Kind::ALL {
        report(kind.name(), &automaton, &language.texts(kind, 4_000, BYTES), &options);
    }
    report("short texts", &automaton, &language.texts(Kind::Prose, 140, BYTES), &options);
    ExitCode::SUCCESS
}

/// Encode once so that buffers have their size, once to be counted, and print what was counted.
fn report(name: &str, automaton: &Automaton, texts: &[String], options: &EncodeOptions) {
    let texts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
    let (mut workspace, mut out) = (Workspace::default(), Encoded::default());
    run(automaton, &texts, options, &mut workspace, &mut out);
    out.ids.clear();
    out.ends.clear();
    measured(automaton, &texts, options, &mut workspace, &mut out);
    println!("{name}\t{}", texts.iter().map(|text| text.len()).sum::<usize>());
}

/// The call that is counted: its name is how the counting program knows it.
#[inline(never)]
fn measured(a: &Automaton, texts: &[&[u8]], options: &EncodeOptions, workspace: &mut Workspace, out: &mut Encoded) {
    run(a, texts, options, workspace, out);
}

fn run(automaton: &Automaton, texts: &[&[u8]], options: &EncodeOptions, workspace: &mut Workspace, out: &mut Encoded) {
    encode(automaton, texts.iter().copied().map(Some), options, workspace, out).expect("not strict");
}
