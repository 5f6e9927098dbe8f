//! Rings on this machine that others come to, over connections of their own.

use super::{
	accounts::drivers::Drivers,
	driver::Patience,
	lend::{lend, Lent},
	liars::Liars,
	loaded::Loaded,
	message::{frame, receive, send, Profile, Reply, Request},
	start::{start, Find, Options, RingError, Started},
	tests::{bits, expected, options, piece, source, text},
};
use neuroshard_compute::exec::{Exec, Sequence};
use neuroshard_inference::Engine;
use neuroshard_network::{Keypair, PeerAddress, Streams};
use std::{
	sync::{Arc, Mutex},
	time::{Duration, Instant},
};
use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// Longer than any machine takes for what is waited for.
const AGES: Duration = Duration::from_secs(600);

/// A worker that holds what it is asked to.
struct Worker {
	address: PeerAddress,
	loaded: Loaded,
	stop: CancellationToken,
	lending: JoinHandle<()>,
	_streams: Streams,
}

impl Worker {
	async fn start(memory: u64) -> Self {
		let (stop, loaded, source) = (CancellationToken::new(), Loaded::default(), source());
		let listen = vec!["/ip4/127.0.0.1/udp/0/quic-v1".parse().unwrap()];
		let (streams, incoming, mut bound, _) = Streams::start(Keypair::generate_ed25519(), listen, stop.clone()).await.unwrap();
		let lent = Lent::measured(&source, &Exec::new(1).unwrap(), memory).unwrap();
		let sources = watch::channel(vec![source]).1;
		let lending = tokio::spawn(lend(incoming, sources, lent, Drivers::Anybody, (None, loaded.clone()), stop.clone()));
		Self { address: bound.remove(0), loaded, stop, lending, _streams: streams }
	}

	async fn end(self) {
		self.stop.cancel();
		self.lending.await.unwrap();
	}
}

/// What a directory would know.
#[derive(Clone, Default)]
struct Known(Arc<Mutex<Vec<PeerAddress>>>);

impl Known {
	fn add(&self, worker: &Worker) {
		self.0.lock().unwrap().push(worker.address.clone());
	}

	fn find(&self) -> Find {
		let known = self.clone();
		Arc::new(move |passes| known.0.lock().unwrap().iter().filter(|known| passes(&known.peer)).cloned().collect())
	}
}

async fn ring(known: &Known, redundancy: usize, stop: &CancellationToken) -> Started {
	let (streams, _, _, _) = Streams::start(Keypair::generate_ed25519(), Vec::new(), stop.clone()).await.unwrap();
	let find = known.find();
	let patience = Patience { late: Duration::from_millis(300), unknown: AGES, lost: AGES, begun: AGES };
	let options = Options { find: Some(find.clone()), redundancy, patience, ..options(find(&|_| true)) };
	let base = tempfile::tempdir().unwrap();
	start(&streams, source(), options, Liars::read(base.path()).unwrap(), None, stop.clone()).await.unwrap()
}

/// Waits until a worker holds two spans.
async fn until_it_holds_both(worker: &Worker) {
	let held = async {
		while worker.loaded.all().0.len() < 2 {
			tokio::time::sleep(Duration::from_millis(20)).await;
		}
	};
	tokio::time::timeout(AGES, held).await.unwrap();
}

/// Reads a text of 60 tokens, half of it before something happens.
async fn read(mut started: Started, happens: impl AsyncFnOnce()) -> (Vec<u32>, Started) {
	let (text, pages, mut sequence) = (text(60, 4), started.engine.pages(8), Sequence::default());
	let mut logits = tokio::task::block_in_place(|| bits(started.engine.logits(&pages, &mut [piece(&mut sequence, &text[..30])]).unwrap()));
	happens().await;
	let rest = tokio::task::block_in_place(|| bits(started.engine.logits(&pages, &mut [piece(&mut sequence, &text[30..])]).unwrap()));
	logits.extend(rest);
	(logits, started)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_comes_takes_the_place_of_one_that_is_lost_and_the_text_goes_on() {
	let (known, stop) = (Known::default(), CancellationToken::new());
	// Too small for anything.
	let small = Worker::start(1).await;
	known.add(&small);
	let [one, other] = [Worker::start(1 << 30).await, Worker::start(1 << 30).await];
	known.add(&one);
	known.add(&other);
	let started = ring(&known, 1, &stop).await;
	assert_eq!(started.placement.ring().count(), 2);
	let late = Worker::start(1 << 30).await;
	known.add(&late);
	let held = one.loaded.all().0;
	let (logits, _started) = read(started, async || one.end().await).await;
	assert_eq!(logits, expected(&text(60, 4)));
	// What the lost one held, and nothing else.
	assert_eq!((late.loaded.all().0, small.loaded.all().0), (held, vec![]));
	stop.cancel();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nobody_comes_a_member_with_room_takes_a_second_span() {
	let (known, stop) = (Known::default(), CancellationToken::new());
	let [one, other] = [Worker::start(1 << 30).await, Worker::start(1 << 30).await];
	known.add(&one);
	known.add(&other);
	let started = ring(&known, 1, &stop).await;
	let held = [&one, &other].map(|worker| worker.loaded.all().0);
	let (logits, _started) = read(started, async || one.end().await).await;
	assert_eq!(logits, expected(&text(60, 4)));
	let mut both = held.concat();
	both.sort_unstable();
	assert_eq!(other.loaded.all().0, both);
	stop.cancel();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_span_that_fewer_hold_than_were_asked_for_gets_another_holder_before_it_is_needed() {
	let (known, stop) = (Known::default(), CancellationToken::new());
	let [one, other, late] = [Worker::start(1 << 30).await, Worker::start(1 << 30).await, Worker::start(1 << 30).await];
	known.add(&one);
	known.add(&other);
	let started = ring(&known, 2, &stop).await;
	// Each holds both spans.
	until_it_holds_both(&other).await;
	one.end().await;
	known.add(&late);
	until_it_holds_both(&late).await;
	// It can go on alone.
	let (logits, _started) = read(started, async || other.end().await).await;
	assert_eq!(logits, expected(&text(60, 4)));
	stop.cancel();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_claims_what_it_has_and_then_holds_nothing_is_left_alone_and_the_others_are_not() {
	let (known, stop) = (Known::default(), CancellationToken::new());
	let honest = Worker::start(1 << 30).await;
	let boaster = {
		let listen = vec!["/ip4/127.0.0.1/udp/0/quic-v1".parse().unwrap()];
		let (streams, mut incoming, mut bound, _) = Streams::start(Keypair::generate_ed25519(), listen, stop.clone()).await.unwrap();
		let answering = tokio::spawn(async move {
			let _streams = streams;
			while let Some((_, mut stream)) = incoming.next().await {
				tokio::spawn(async move {
					while let Ok((Request::Profile, _)) = receive::<Request>(&mut stream).await {
						let (parameters, most) = (source().parameters, 1 << 40);
						let profile = Profile { parameters, memory: most, bandwidth: most, flops: most, account: None };
						send(&mut stream, &frame(&Reply::Profile(profile), &[])).await.unwrap();
					}
					std::future::pending::<()>().await;
				});
			}
		});
		(bound.remove(0), answering)
	};
	known.add(&honest);
	known.0.lock().unwrap().push(boaster.0.clone());
	let (streams, _, _, _) = Streams::start(Keypair::generate_ed25519(), Vec::new(), stop.clone()).await.unwrap();
	let find = known.find();
	// Nobody else comes: it is found only once.
	let only: Find = Arc::new(|_| Vec::new());
	let options = Options { find: Some(only), loading: Duration::from_secs(5), ..options(find(&|_| true)) };
	let base = tempfile::tempdir().unwrap();
	let started = start(&streams, source(), options.clone(), Liars::read(base.path()).unwrap(), None, stop.clone()).await;
	assert!(matches!(started, Err(RingError::NotReady(_))));
	let rests = [&boaster.0, &honest.address].map(|address| options.resting.has(&address.peer, Instant::now()));
	assert_eq!(rests, [true, false]);
	boaster.1.abort();
	stop.cancel();
}
