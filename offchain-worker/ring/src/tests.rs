//! A ring on this machine, over pipes, whose members are slow, die, come back and lie when they are told to.

use super::{
	answering,
	driver::{Patience, Ring},
	find::Resting,
	link::{keep, EVENTS},
	loaded::Loaded,
	message::{frame, receive, send, Hold, Profile, Reply, Request},
	placement::{place, Links, Node, Roles, Speed, Split},
	presence::Presence,
	report::{Report, Reports},
	span::Span,
	start::{held, Options, LOADING},
};
use neuroshard_compute::exec::{Exec, Inference, InferenceError, Piece, Sequence, Wanted};
use neuroshard_graph::{Class, ModelConfig};
use neuroshard_inference::{Engine, Part, Source};
use neuroshard_network::PeerAddress;
use neuroshard_training::{checkpoint::Checkpoint, presets};
use neuroshard_types::H256;
use proptest::prelude::*;
use std::{
	sync::{
		atomic::{AtomicU32, Ordering},
		mpsc::sync_channel,
		Arc,
	},
	time::{Duration, Instant},
};
use tokio::{
	io::{duplex, DuplexStream},
	runtime::Runtime,
};
use tokio_util::sync::CancellationToken;

const LAYERS: u32 = 3;
/// Longer than any machine takes for what is waited for.
const AGES: Duration = Duration::from_secs(3_600);

pub(super) fn source() -> Source {
	source_in(Class::ExactF32)
}

fn source_in(class: Class) -> Source {
	let (model, train) = presets::tiny();
	let model = ModelConfig { layers: LAYERS, ..model };
	let mut params = Checkpoint::genesis(0, &model, &train, 1).unwrap().params;
	params.iter_mut().enumerate().for_each(|(index, value)| *value *= 3.0 + (index % 11) as f32 * 0.1);
	let config = model.clone();
	Source::new(H256::repeat_byte(1), model, move |stage, class| {
		let part = Inference::in_class(Arc::new(Exec::new(1).unwrap()), &config, &params, stage, class).map_err(|error| error.to_string());
		part.map(|part| -> Box<dyn Part> { Box::new(part) })
	})
	.in_class(class)
}

/// Conduct of a member: as it should be, or one of the other ways.
#[derive(Clone, Default)]
struct Conduct(Arc<AtomicU32>);

const GOOD: u32 = 0;
/// Its connection ends, and nobody gets a new one.
const DEAD: u32 = 1;
/// It takes everything and answers nothing.
const SILENT: u32 = 2;
/// It answers late.
const SLOW: u32 = 9;
/// It changes a bit of what it computed, and vouches for it.
const LIAR: u32 = 3;
/// The same once; from then on it behaves as it should.
const LIAR_ONCE: u32 = 4;
/// It refuses the next pass, and behaves as it should from then on.
const REFUSES_ONCE: u32 = 5;

impl Conduct {
	fn is(&self) -> u32 {
		self.0.load(Ordering::SeqCst)
	}

	fn set(&self, conduct: u32) {
		self.0.store(conduct, Ordering::SeqCst);
	}
}

/// Relays between a driver and a good holder, and spoils what it is told to.
async fn between(mut driver: DuplexStream, mut holder: DuplexStream, conduct: Conduct) {
	loop {
		let Ok((request, rows)) = receive::<Request>(&mut driver).await else { return };
		if let (REFUSES_ONCE, Request::Pass(pass)) = (conduct.is(), &request) {
			conduct.set(GOOD);
			let refused = Reply::Refused { number: Some(pass.number), words: "no".to_owned() };
			send(&mut driver, &frame(&refused, &[])).await.unwrap();
			continue;
		}
		send(&mut holder, &frame(&request, &rows)).await.unwrap();
		let Ok((mut reply, mut rows)) = receive::<Reply>(&mut holder).await else { return };
		match (conduct.is(), &mut reply) {
			(DEAD, _) => return,
			(SILENT, _) => continue,
			(SLOW, Reply::Done(_)) => tokio::time::sleep(Duration::from_millis(60)).await,
			(LIAR | LIAR_ONCE, Reply::Done(done)) => {
				if conduct.is() == LIAR_ONCE {
					conduct.set(GOOD);
				}
				if let Some(last) = rows.last_mut() {
					// Much enough for all that is computed from it to differ.
					*last = f32::from_bits(last.to_bits() ^ (1 << 22));
				}
				// As if it had computed that.
				done.roots = match rows.is_empty() {
					true => vec![H256::repeat_byte(9); done.roots.len()],
					false => {
						let each = rows.len() / done.roots.len();
						rows.chunks(each).map(super::message::root).collect()
					}
				};
			}
			_ => {}
		}
		if send(&mut driver, &frame(&reply, &rows)).await.is_err() {
			return;
		}
	}
}

/// Has a member behave well again after a while.
fn comes_back(conduct: &Conduct, after: Duration) {
	let conduct = conduct.clone();
	std::thread::spawn(move || {
		std::thread::sleep(after);
		conduct.set(GOOD);
	});
}

struct TestRing {
	ring: Ring,
	conduct: Vec<Conduct>,
	reports: Reports,
	stop: CancellationToken,
	_runtime: Runtime,
}

impl Drop for TestRing {
	fn drop(&mut self) {
		self.stop.cancel();
	}
}

/// Returns how often a member has come to hold its span.
fn joined(reports: &Reports) -> usize {
	reports.all().iter().filter(|report| matches!(report, Report::Joined(_))).count()
}

/// A ring whose spans end before these layers, each held by so many members, numbered span by span.
fn ring(ends: &[u32], holders: usize, patience: Patience) -> TestRing {
	ring_of(source(), ends, holders, patience)
}

/// [`ring`] of a model.
fn ring_of(source: Source, ends: &[u32], holders: usize, patience: Patience) -> TestRing {
	let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
	let (stop, reports) = (CancellationToken::new(), Reports::default());
	let (sender, events) = sync_channel(EVENTS);
	let (mut spans, mut first, mut conduct) = (Vec::new(), 0, Vec::new());
	for (index, end) in ends.iter().enumerate() {
		let hold = Hold {
			parameters: source.parameters,
			class: source.class,
			embedding: false,
			first,
			layers: end - first,
			head: index + 1 == ends.len(),
			pages: 64,
			terms: None,
		};
		spans.push(Span::new(hold, (index * holders..(index + 1) * holders).collect()));
		first = *end;
	}
	let presence = Presence::new(spans.len());
	let mut names = Vec::new();
	for index in 0..spans.len() * holders {
		let (of_member, conduct_of, handle) = (source.clone(), Conduct::default(), runtime.handle().clone());
		conduct.push(conduct_of.clone());
		let open = move || {
			let (source, conduct, handle) = (of_member.clone(), conduct_of.clone(), handle.clone());
			async move {
				if conduct.is() == DEAD {
					return None;
				}
				let (ours, theirs) = duplex(1 << 20);
				let (near, far) = duplex(1 << 20);
				let profile = Profile { parameters: source.parameters, memory: 1 << 30, bandwidth: 0, flops: 0, account: None };
				let sources = tokio::sync::watch::channel(vec![source]).1;
				handle.spawn(answering::answer(far, sources, profile, None, Loaded::default()));
				handle.spawn(between(theirs, near, conduct));
				Some(ours)
			}
		};
		let banned = CancellationToken::new();
		let hold = spans[index / holders].hold.clone();
		let of = (index, index / holders);
		runtime.spawn(keep(of, hold, (sender.clone(), presence.clone()), [stop.clone(), banned.clone()], None, open));
		names.push((format!("member {index}"), banned));
	}
	let mut ring = Ring::new(source, spans, names, (events, presence), patience, reports.clone()).unwrap();
	ring.ready(Instant::now() + AGES).unwrap();
	while joined(&reports) < conduct.len() {
		ring.news_for_test();
	}
	TestRing { ring, conduct, reports, stop, _runtime: runtime }
}

/// A ring of these workers as most tests have it.
pub(super) fn options(members: Vec<PeerAddress>) -> Options {
	Options {
		members,
		find: None,
		resting: Resting::default(),
		redundancy: 1,
		split: Split::MemoryWeighted,
		texts: 1,
		pages: 8,
		patience: Patience::default(),
		loading: LOADING,
	}
}

pub(super) fn piece<'a>(sequence: &'a mut Sequence, tokens: &'a [u32]) -> Piece<'a> {
	Piece { sequence, tokens, wanted: Wanted::All }
}

fn impatient() -> Patience {
	Patience { late: Duration::from_millis(300), unknown: Duration::from_secs(2), lost: AGES, begun: AGES }
}

/// Waits for everybody, for as long as a machine may take.
fn nobody_is_late() -> Patience {
	Patience { late: AGES, unknown: AGES, lost: AGES, begun: AGES }
}

pub(super) fn bits(rows: &[f32]) -> Vec<u32> {
	rows.iter().map(|value| value.to_bits()).collect()
}

pub(super) fn expected(text: &[u32]) -> Vec<u32> {
	expected_of(&source(), text)
}

fn expected_of(source: &Source, text: &[u32]) -> Vec<u32> {
	let mut inference = source.load(&neuroshard_compute::exec::Stage::whole(3)).unwrap();
	let mut sequence = Sequence::default();
	let pages = neuroshard_compute::exec::Pages::new(8);
	bits(inference.logits(&pages, &mut [Piece { sequence: &mut sequence, tokens: text, wanted: Wanted::All }]).unwrap())
}

pub(super) fn text(len: usize, seed: u32) -> Vec<u32> {
	(0..u32::try_from(len).unwrap()).map(|index| (index * 31 + seed * 17 + index * index) % 256).collect()
}

/// Logits after every token, of pieces of `portion` tokens; before each piece, `happens` is told its number.
fn read(ring: &mut Ring, text: &[u32], portion: usize, mut happens: impl FnMut(usize)) -> Result<Vec<u32>, InferenceError> {
	let pages = ring.pages(8);
	let (mut sequence, mut logits) = (Sequence::default(), Vec::new());
	for (number, tokens) in text.chunks(portion).enumerate() {
		happens(number);
		logits.extend(bits(ring.logits(&pages, &mut [Piece { sequence: &mut sequence, tokens, wanted: Wanted::All }])?));
	}
	Ok(logits)
}

#[test]
fn a_ring_answers_with_the_bits_of_one_machine() {
	for ends in [&[3][..], &[1, 3], &[1, 2, 3]] {
		for holders in [1, 2] {
			let mut ring = ring(ends, holders, Patience::default());
			for (len, portion) in [(1, 1), (100, 7), (128, 128)] {
				let text = text(len, 3);
				assert_eq!(read(&mut ring.ring, &text, portion, |_| {}).unwrap(), expected(&text));
			}
		}
	}
}

#[test]
fn a_ring_in_int8_answers_with_the_bits_of_one_machine_in_int8() {
	let source = source_in(Class::ExactInt8);
	let mut ring = ring_of(source.clone(), &[1, 3], 2, Patience::default());
	let text = text(70, 3);
	let logits = read(&mut ring.ring, &text, 9, |_| {}).unwrap();
	assert!(logits == expected_of(&source, &text) && logits != expected(&text));
}

#[test]
fn a_holder_that_dies_is_replaced_by_another_of_the_same_span() {
	let mut ring = ring(&[1, 3], 2, impatient());
	let (text, conduct) = (text(90, 1), ring.conduct.clone());
	let logits = read(&mut ring.ring, &text, 5, |number| match number {
		5 => conduct[0].set(DEAD),
		9 => conduct[3].set(DEAD),
		_ => {}
	});
	assert_eq!(logits.unwrap(), expected(&text));
	assert!(ring.reports.all().contains(&Report::Gone("member 0".into())));
	assert_eq!(liars(&ring.reports), Vec::<String>::new(), "a lost connection is no lie");
	// Both are back, and know nothing of the text: the others die.
	let pages = ring.ring.pages(8);
	let mut sequence = Sequence::default();
	let mut logits = bits(ring.ring.logits(&pages, &mut [piece(&mut sequence, &text[..70])]).unwrap());
	ring.conduct[0].set(GOOD);
	ring.conduct[3].set(GOOD);
	while joined(&ring.reports) < 6 {
		ring.ring.news_for_test();
	}
	ring.conduct[1].set(DEAD);
	ring.conduct[2].set(DEAD);
	logits.extend(bits(ring.ring.logits(&pages, &mut [piece(&mut sequence, &text[70..])]).unwrap()));
	assert_eq!(logits, expected(&text));
}

#[test]
fn a_holder_that_is_silent_is_replaced_in_time() {
	let mut ring = ring(&[2, 3], 2, impatient());
	let (text, conduct) = (text(60, 2), ring.conduct.clone());
	let logits = read(&mut ring.ring, &text, 1, |number| {
		if number == 30 {
			conduct[0].set(SILENT)
		}
	});
	assert_eq!(logits.unwrap(), expected(&text));
	assert!(ring.reports.all().contains(&Report::Late("member 0".into())));
	assert_eq!(ring.reports.replacements().len(), 0, "the other one had computed the same");
}

#[test]
fn a_holder_that_is_silent_is_waited_for_once_and_not_in_each_new_text() {
	let late = Duration::from_millis(500);
	let mut ring = ring(&[1, 3], 2, Patience { late, ..Patience::default() });
	let pages = ring.ring.pages(64);
	let ask = |ring: &mut TestRing, seed: u32| {
		let text = text(10, seed);
		let mut sequence = Sequence::default();
		let logits = bits(ring.ring.logits(&pages, &mut [piece(&mut sequence, &text)]).unwrap());
		assert_eq!(logits, expected(&text));
	};
	ask(&mut ring, 0);
	ring.conduct[0].set(SILENT);
	ring.conduct[3].set(SILENT);
	(1..40).for_each(|seed| ask(&mut ring, seed));
	let lates = ring.reports.all().iter().filter(|report| matches!(report, Report::Late(_))).count();
	// Beside these two, an honest one may be late now and then where the machine does other work.
	assert!((2..20).contains(&lates), "{lates} times in 39 texts");
	// The others are lost: it is asked, since nobody else is there.
	ring.conduct[0].set(GOOD);
	ring.conduct[1].set(DEAD);
	(40..45).for_each(|seed| ask(&mut ring, seed));
}

#[test]
fn holders_that_are_late_now_and_then_are_used_again_and_never_blamed() {
	let mut ring = ring(&[1, 3], 2, Patience { late: Duration::from_millis(20), ..Patience::default() });
	let texts: Vec<Vec<u32>> = (0..3).map(|seed| text(120, seed)).collect();
	let expected: Vec<Vec<u32>> = texts.iter().map(|text| expected(text)).collect();
	let (pages, vocab) = (ring.ring.pages(64), ring.ring.vocab());
	let mut sequences = [Sequence::default(), Sequence::default(), Sequence::default()];
	for pass in 0..60 {
		let (member, conduct) = (pass / 3 % 4, if pass % 3 == 0 { SLOW } else { GOOD });
		ring.conduct[member].set(conduct);
		let (mut pieces, mut rows) = (Vec::new(), Vec::new());
		for (index, (sequence, text)) in sequences.iter_mut().zip(&texts).enumerate() {
			let first = sequence.len();
			let tokens = &text[first..text.len().min(first + 2 + index)];
			if !tokens.is_empty() && (pass + index) % 4 != 0 {
				rows.extend((first..first + tokens.len()).map(|row| (index, row)));
				pieces.push(piece(sequence, tokens));
			}
		}
		if pieces.is_empty() {
			continue;
		}
		let logits = bits(ring.ring.logits(&pages, &mut pieces).unwrap());
		for ((index, row), logits) in rows.into_iter().zip(logits.chunks(vocab)) {
			assert_eq!(logits, &expected[index][row * vocab..(row + 1) * vocab], "text {index}, row {row}");
		}
	}
	let reports = ring.reports.all();
	assert!(reports.iter().any(|report| matches!(report, Report::Late(_))));
	assert!(!reports.iter().any(|report| matches!(report, Report::Lied(..))), "{reports:?}");
}

#[test]
fn a_holder_that_is_silent_is_replaced_by_one_that_has_to_read_the_text_again() {
	let mut ring = ring(&[1, 3], 2, Patience { unknown: AGES, ..impatient() });
	let text = text(100, 7);
	let pages = ring.ring.pages(8);
	let mut sequence = Sequence::default();
	let mut logits = Vec::new();
	let mut read = |ring: &mut TestRing, tokens: &[u32]| {
		for tokens in tokens.chunks(5) {
			logits.extend(bits(ring.ring.logits(&pages, &mut [piece(&mut sequence, tokens)]).unwrap()));
		}
	};
	read(&mut ring, &text[..20]);
	ring.conduct[3].set(DEAD);
	read(&mut ring, &text[20..70]);
	while !ring.reports.all().contains(&Report::Gone("member 3".into())) {
		ring.ring.news_for_test();
	}
	ring.conduct[3].set(GOOD);
	while joined(&ring.reports) < 5 {
		ring.ring.news_for_test();
	}
	read(&mut ring, &text[70..80]);
	ring.conduct[2].set(SILENT);
	// That ends long before a pass of a size that was never seen would be late.
	read(&mut ring, &text[80..]);
	assert!(ring.reports.all().contains(&Report::Late("member 2".into())));
	assert_eq!(logits, expected(&text));
}

#[test]
fn the_only_holder_comes_back_and_the_text_goes_on() {
	let mut ring = ring(&[1, 3], 1, impatient());
	let (text, conduct) = (text(100, 4), ring.conduct.clone());
	let logits = read(&mut ring.ring, &text, 10, |number| {
		if number == 5 {
			conduct[1].set(DEAD);
			comes_back(&conduct[1], Duration::from_millis(300));
		}
	});
	assert_eq!(logits.unwrap(), expected(&text));
}

#[test]
fn a_liar_is_found_whether_it_is_asked_first_or_not_and_nobody_else_is_blamed() {
	for liar in 0..4 {
		let mut ring = ring(&[1, 3], 2, nobody_is_late());
		let (text, conduct) = (text(50, 5), ring.conduct.clone());
		let logits = read(&mut ring.ring, &text, 5, |number| {
			if number == 4 {
				conduct[liar].set(LIAR)
			}
		});
		assert_eq!(logits.unwrap(), expected(&text));
		assert_eq!(liars(&ring.reports), [format!("member {liar}")]);
	}
}

/// Returns the members that were found to have lied.
fn liars(reports: &Reports) -> Vec<String> {
	let lied = |report| if let Report::Lied(name, _) = report { Some(name) } else { None };
	reports.all().into_iter().filter_map(lied).collect()
}

#[test]
fn a_liar_is_found_although_the_honest_one_is_slower() {
	for liar in 0..2 {
		let mut ring = ring(&[3], 2, nobody_is_late());
		ring.conduct[liar].set(LIAR);
		ring.conduct[1 - liar].set(SLOW);
		let text = text(20, 8);
		assert_eq!(read(&mut ring.ring, &text, 5, |_| {}).unwrap(), expected(&text));
		assert_eq!(liars(&ring.reports), [format!("member {liar}")]);
	}
}

#[test]
fn who_lies_once_is_excluded_although_it_tells_the_truth_from_then_on_and_nobody_beside_it_is_blamed() {
	for liar in 0..4 {
		let mut ring = ring(&[1, 3], 2, nobody_is_late());
		let (text, conduct) = (text(50, 5), ring.conduct.clone());
		let logits = read(&mut ring.ring, &text, 5, |number| {
			if number == 4 {
				conduct[liar].set(LIAR_ONCE)
			}
		});
		assert_eq!(logits.unwrap(), expected(&text));
		assert_eq!(liars(&ring.reports), [format!("member {liar}")]);
		for (index, member) in ring.ring.members.iter().enumerate() {
			assert_eq!(member.banned.is_cancelled(), index == liar, "{index}");
		}
	}
}

#[test]
fn a_liar_that_nobody_could_compare_is_found_by_what_was_sent_on_and_whoever_got_that_is_not_blamed() {
	let mut ring = ring(&[1, 3], 2, nobody_is_late());
	let text = text(40, 9);
	let pages = ring.ring.pages(8);
	let mut sequence = Sequence::default();
	// The liar is alone with the first layer, and the others compute with what it tells: all but the last one, which is not there.
	for away in [1, 3] {
		ring.conduct[away].set(DEAD);
	}
	ring.conduct[0].set(LIAR);
	let wrong = bits(ring.ring.logits(&pages, &mut [piece(&mut sequence, &text[..20])]).unwrap());
	assert!(wrong != expected(&text[..20]));
	while ring.reports.all().iter().filter(|report| matches!(report, Report::Gone(_))).count() < 2 {
		ring.ring.news_for_test();
	}
	// From now on everybody is honest. The others come back, and read the text again, as it should be.
	[0, 1, 3].into_iter().for_each(|member| ring.conduct[member].set(GOOD));
	while joined(&ring.reports) < 6 {
		ring.ring.news_for_test();
	}
	let mut last = Vec::new();
	for tokens in text[20..].chunks(5) {
		// Holders that lack something read one text a pass.
		ring.ring.mended = None;
		last = bits(ring.ring.logits(&pages, &mut [piece(&mut sequence, tokens)]).unwrap());
	}
	let expected = expected(&text);
	assert!(last == expected[expected.len() - last.len()..]);
	assert_eq!(liars(&ring.reports), ["member 0"]);
	assert_eq!(ring.ring.members.iter().map(|member| member.banned.is_cancelled()).collect::<Vec<_>>(), [true, false, false, false]);
}

#[test]
fn who_refuses_a_pass_has_not_lied_and_what_follows_in_it_from_that_is_not_used() {
	for member in 0..4 {
		let mut ring = ring(&[1, 3], 2, nobody_is_late());
		let (text, conduct) = (text(60, 3), ring.conduct.clone());
		let logits = read(&mut ring.ring, &text, 5, |number| {
			if number % 4 == 2 {
				conduct[member].set(REFUSES_ONCE)
			}
		});
		assert_eq!(logits.unwrap(), expected(&text));
		assert!(ring.reports.all().iter().any(|report| matches!(report, Report::Refused(..))));
		assert!(!ring.reports.all().iter().any(|report| matches!(report, Report::Late(_))), "it was not waited for");
		assert_eq!(liars(&ring.reports), Vec::<String>::new());
	}
}

#[test]
fn a_liar_has_nobody_dismissed_while_the_driver_cannot_read_its_own_parameters_and_is_found_when_it_can() {
	let broken = Arc::new(std::sync::atomic::AtomicBool::new(false));
	let (whole, is_broken) = (source(), broken.clone());
	let (parameters, config) = (whole.parameters, whole.config.clone());
	let source = Source::new(parameters, config, move |stage, class| match is_broken.load(Ordering::SeqCst) {
		true => Err("the file is gone".to_owned()),
		false => whole.clone().in_class(class).load(stage),
	});
	let mut ring = ring_of(source, &[3], 3, nobody_is_late());
	broken.store(true, Ordering::SeqCst);
	ring.conduct[0].set(LIAR);
	for seed in 0..6 {
		assert_eq!(read(&mut ring.ring, &text(10, seed), 10, |_| {}).err(), Some(InferenceError::Lost));
	}
	assert!(ring.ring.members.iter().all(|member| !member.banned.is_cancelled()));
	broken.store(false, Ordering::SeqCst);
	let text = text(10, 6);
	assert_eq!(read(&mut ring.ring, &text, 10, |_| {}).unwrap(), expected(&text));
	assert_eq!(liars(&ring.reports), ["member 0"]);
	assert!(ring.ring.members[1..].iter().all(|member| !member.banned.is_cancelled()));
}

#[test]
fn a_ring_is_not_ready_while_nobody_holds_a_span_and_a_text_that_has_not_begun_does_not_wait_for_one_under_way() {
	// Nobody would wait so long.
	let patience = Patience { lost: Duration::from_secs(3_600), begun: Duration::from_millis(300), ..impatient() };
	let mut ring = ring(&[1, 3], 1, patience);
	let readiness = ring.ring.readiness();
	assert!(readiness.is_ready());
	ring.conduct[1].set(DEAD);
	assert_eq!(read(&mut ring.ring, &text(3, 1), 3, |_| {}).err(), Some(InferenceError::Lost));
	assert!(!readiness.is_ready());
	ring.conduct[1].set(GOOD);
	ring.ring.ready(Instant::now() + AGES).unwrap();
	assert!(readiness.is_ready());
}

#[test]
fn without_a_holder_of_a_span_the_text_is_given_up_and_others_are_as_before() {
	let mut ring = ring(&[1, 3], 1, Patience { lost: Duration::from_millis(300), ..impatient() });
	let text = text(20, 6);
	let pages = ring.ring.pages(8);
	let mut sequence = Sequence::default();
	let mut logits = bits(ring.ring.logits(&pages, &mut [piece(&mut sequence, &text[..10])]).unwrap());
	ring.conduct[0].set(DEAD);
	assert_eq!(ring.ring.logits(&pages, &mut [piece(&mut sequence, &text[10..])]).err(), Some(InferenceError::Lost));
	assert_eq!(sequence.len(), 10);
	ring.conduct[0].set(GOOD);
	ring.ring.ready(Instant::now() + AGES).unwrap();
	logits.extend(bits(ring.ring.logits(&pages, &mut [piece(&mut sequence, &text[10..])]).unwrap()));
	assert_eq!(logits, expected(&text));
}

#[test]
fn a_model_whose_head_is_its_embedding_can_be_split_as_well() {
	for tied in [true, false] {
		let config = ModelConfig { tied, ..presets::tiny().0 };
		let node = |name: &str| Node {
			name: name.to_owned(),
			memory: 1 << 30,
			speed: Speed { flops: 1e9, bytes: 1e9 },
			reputation: 500,
			uptime: 1.0,
			roles: Roles::ALL,
		};
		let links = Links::new(2, |_, _| Some(super::placement::Link { latency: 1e-4, bandwidth: 1e9 })).unwrap();
		let request = super::placement::Request { split: Split::MemoryWeighted, ..super::placement::Request::default() };
		let placement = place(&held(&config, Class::ExactF32, 4).unwrap(), &[node("a"), node("b")], &links, &request).unwrap();
		assert_eq!(placement.ring().count(), 2);
	}
}

proptest! {
	#![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

	/// Several texts, which share beginnings, go wrong ways and back, and end; and members that die and come back.
	#[test]
	fn whatever_happens_to_members_the_bits_are_those_of_one_machine(
		texts in prop::collection::vec((1usize..128, 0u32..3, 1usize..40), 1..5),
		(two, holders) in (any::<bool>(), 1usize..3),
		mishaps in prop::collection::vec((0usize..12, 0usize..4), 0..4),
	) {
		let ends: &[u32] = if two { &[1, 3] } else { &[3] };
		let mut ring = ring(ends, holders, impatient());
		let pages = ring.ring.pages(64);
		let texts: Vec<(Vec<u32>, usize)> = texts.into_iter().map(|(len, seed, portion)| (text(len, seed), portion)).collect();
		let expected: Vec<Vec<u32>> = texts.iter().map(|(text, _)| expected(text)).collect();
		let mut sequences: Vec<Sequence> = texts.iter().map(|_| Sequence::default()).collect();
		let vocab = ring.ring.vocab();
		for pass in 0..400 {
			for (_, member) in mishaps.iter().filter(|(at, _)| *at == pass) {
				if let Some(conduct) = ring.conduct.get(*member) {
					conduct.set(DEAD);
					comes_back(conduct, Duration::from_millis(20));
				}
			}
			let mut rows = Vec::new();
			let mut pieces = Vec::new();
			for (index, (sequence, (text, portion))) in sequences.iter_mut().zip(&texts).enumerate() {
				let first = sequence.len();
				let tokens = &text[first..text.len().min(first + portion)];
				if !tokens.is_empty() && (pass + index) % 3 != 0 {
					rows.extend((first..first + tokens.len()).map(|row| (index, row)));
					pieces.push(Piece { sequence, tokens, wanted: Wanted::All });
				}
			}
			if !pieces.is_empty() {
				let logits = ring.ring.logits(&pages, &mut pieces).unwrap();
				for ((index, row), logits) in rows.into_iter().zip(logits.chunks(vocab)) {
					prop_assert_eq!(&bits(logits)[..], &expected[index][row * vocab..(row + 1) * vocab]);
				}
			}
			for sequence in &mut sequences {
				if pass % 4 == 1 && sequence.len() < 120 {
					let before = sequence.len();
					ring.ring.logits(&pages, &mut [Piece { sequence, tokens: &[1, 2, 3], wanted: Wanted::Last }]).unwrap();
					sequence.truncate(before);
				}
				if pass % 5 == 3 {
					let full = sequence.full().to_vec();
					if pass < 50 {
						*sequence = Sequence::with_prefix(full);
					}
				}
			}
			if sequences.iter().zip(&texts).all(|(sequence, (text, _))| sequence.len() == text.len()) {
				break;
			}
		}
		prop_assert!(sequences.iter().zip(&texts).all(|(sequence, (text, _))| sequence.len() == text.len()));
		prop_assert_eq!(liars(&ring.reports), Vec::<String>::new());
	}
}
