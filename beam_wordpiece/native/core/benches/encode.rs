//! Encoding, whole: every kind of text at every level of vector instructions, and short texts one by one and together.

mod texts;

use criterion::{BenchmarkId, Criterion, Throughput};
use std::hint::black_box;
use texts::{Kind, Language};
use wordpiece::automaton::Automaton;
use wordpiece::encoder::{EncodeOptions, Encoded, Workspace, encode};
use wordpiece::simd::Level;

/// Bytes of text in one iteration: more than the first-level caches hold, little enough for many iterations.
const BYTES: usize = 256 * 1024;

/// Tokenizes with buffers that are used again, as a worker does.
struct Encoder<'a> {
    automaton: &'a Automaton,
    options: EncodeOptions,
    workspace: Workspace,
    out: Encoded,
}

impl<'a> Encoder<'a> {
    fn new(automaton: &'a Automaton, level: Level) -> Encoder<'a> {
        let options = EncodeOptions { add_special_tokens: false, strict: false, level };
        Encoder { automaton, options, workspace: Workspace::default(), out: Encoded::default() }
    }

    /// Encode texts in one call and forget the ids.
    fn run(&mut self, texts: &[String]) {
        self.out.ids.clear();
        self.out.ends.clear();
        let texts = texts.iter().map(|text| Some(text.as_bytes()));
        encode(self.automaton, texts, &self.options, &mut self.workspace, &mut self.out).expect("not strict");
        black_box(&self.out);
    }
}

fn kinds(criterion: &mut Criterion) {
    let language = Language::made();
    let automaton = Automaton::from_bytes(&language.automaton()).expect("just compiled");
    for kind in Kind::ALL {
        let texts = language.texts(kind, 4_000, BYTES);
        let mut group = criterion.benchmark_group(kind.name());
        group.throughput(Throughput::Bytes(texts.iter().map(String::len).sum::<usize>() as u64));
        for level in Level::available() {
            let mut encoder = Encoder::new(&automaton, level);
            group.bench_function(BenchmarkId::from_parameter(level.name()), |bencher| {
                bencher.iter(|| encoder.run(&texts));
            });
        }
    }
}

fn short_texts(criterion: &mut Criterion) {
    let language = Language::made();
    let automaton = Automaton::from_bytes(&language.automaton()).expect("just compiled");
    let texts = language.texts(Kind::Prose, 140, BYTES);
    let mut group = criterion.benchmark_group("texts of 140 bytes");
    group.throughput(Throughput::Bytes(texts.iter().map(String::len).sum::<usize>() as u64));
    for level in Level::available() {
        let mut encoder = Encoder::new(&automaton, level);
        group.bench_function(BenchmarkId::new("one call", level.name()), |bencher| {
            bencher.iter(|| encoder.run(&texts));
        });
        group.bench_function(BenchmarkId::new("one call each", level.name()), |bencher| {
            bencher.iter(|| texts.chunks(1).for_each(|text| encoder.run(text)));
        });
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    kinds(&mut criterion);
    short_texts(&mut criterion);
    criterion.final_summary();
}
