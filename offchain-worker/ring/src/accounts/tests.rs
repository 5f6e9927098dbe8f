//! Members of a ring that say whose they are, a chain that knows better, and offers of all kinds.

use super::{
	super::{
		answering::answer,
		lend::{lend, Lent},
		liars::Liars,
		loaded::Loaded,
		message::{frame, receive, send, Hold, Profile, Reply, Request},
		placement::{place, Link, Links, Node, Placement, Roles, Speed, Split},
		start::{held, start, Find, Options, RingError, Started},
		tests::{options, source},
	},
	consent::{Consent, Watch},
	drivers::{Drivers, Registered},
	member::{decisions, Difference, Member, Tasks},
	*,
};
use neuroshard_compute::exec::Exec;
use neuroshard_fixtures::{provider, Connect};
use neuroshard_mock_node::{Fate, MockNode, Script};
use neuroshard_network::{Keypair, PeerAddress, Streams};
use neuroshard_training::presets;
use neuroshard_types::{
	inference::{CheckpointId, Class, Offer, OfferView},
	ModelConfig, H256,
};
use std::{collections::HashSet, sync::Arc, time::Duration};
use tokio::{
	sync::watch,
	task::{JoinHandle, JoinSet},
};
use tokio_util::sync::CancellationToken;

const PARAMETERS: H256 = H256([1; 32]);
const PRICES: Prices = Prices { prompt: 2, generated: 5 };
/// Longest time until something happens that has to.
const SOON: Duration = Duration::from_secs(60);

fn account(number: u8) -> AccountId {
	AccountId::new([number; 32])
}

fn peer() -> PeerId {
	Keypair::generate_ed25519().public().to_peer_id()
}

/// A provider that computes layers, and has registered this identity.
fn registered(peer: &PeerId) -> ProviderView {
	let mut view = provider();
	view.info.peer_id = peer.to_bytes().try_into().unwrap();
	view
}

fn span(who: &AccountId, first: u16, layers: u16) -> Span {
	Span { who: who.clone(), first, layers }
}

fn terms(driver: &AccountId) -> Terms {
	Terms { driver: driver.clone(), prices: PRICES, redundancy: 1 }
}

/// Returns the offer of a driver with such a ring, by the terms above.
fn offer(ring: &[Span]) -> Offer {
	Offer {
		checkpoint: CheckpointId { run: 3, round: 4, root: PARAMETERS },
		class: Class::ExactF32,
		prices: PRICES,
		redundancy: 1,
		endpoint: b"http://127.0.0.1:8000".to_vec().try_into().unwrap(),
		ring: ring.to_vec().try_into().unwrap(),
	}
}

/// An offer as the chain shows it, to which these have agreed.
fn view(driver: &AccountId, offer: Offer, consents: &[AccountId]) -> OfferView {
	let ready = offer.members(driver).iter().all(|member| consents.contains(member));
	let (hash, consents) = (offer.hash(driver), consents.to_vec().try_into().unwrap());
	OfferView { driver: driver.clone(), hash, offer, consents, ready, sessions: 0, deposit: 0 }
}

fn hold(driver: &AccountId, first: u32, layers: u32) -> Hold {
	let terms = Some(terms(driver));
	Hold { parameters: PARAMETERS, class: Class::ExactF32, embedding: false, first, layers, head: false, pages: 1, terms }
}

#[test]
fn an_account_is_that_of_the_worker_only_if_it_has_registered_its_identity_and_a_member_only_if_it_computes() {
	let (who, ours, other) = (account(1), peer(), peer());
	let good = registered(&ours);
	assert_eq!(is_member(&who, &ours, Some(&good)), Ok(()));
	assert_eq!(is_member(&who, &ours, None), Err(Unfit::NotRegistered(who.clone())));
	let foreign = is_member(&who, &other, Some(&good)).unwrap_err();
	let words = foreign.to_string();
	assert!(matches!(foreign, Unfit::OtherPeer { .. }) && [ours, other].iter().all(|peer| words.contains(&peer.to_string())), "{words}");
	assert_eq!(is_of(&who, &other, Some(&good)), Err(foreign));

	let chilled = ProviderView { status: ProviderStatus::Chilled, ..good.clone() };
	assert_eq!(is_member(&who, &ours, Some(&chilled)), Err(Unfit::NotActive(who.clone())));
	let mut verifier = good.clone();
	verifier.info.roles = neuroshard_types::provider::Roles::only(Role::Verifier);
	assert_eq!(is_member(&who, &ours, Some(&verifier)), Err(Unfit::NoRole(who.clone())));
	// Of a driver it is only asked whose account it is.
	assert_eq!((is_of(&who, &ours, Some(&chilled)), is_of(&who, &ours, Some(&verifier))), (Ok(()), Ok(())));
	verifier.info.roles = neuroshard_types::provider::Roles::only(Role::Predictor);
	assert_eq!(is_member(&who, &ours, Some(&verifier)), Ok(()));
}

#[test]
fn all_workers_of_a_ring_are_accounts_or_none_and_nobody_is_there_twice() {
	let (one, other) = (account(1), account(2));
	let all = |workers: &[Option<&AccountId>]| of_all(workers.iter().enumerate().map(|(number, who)| (format!("w{number}"), *who)));
	assert_eq!(all(&[None, None]), Ok(None));
	assert_eq!(all(&[Some(&one), Some(&other)]), Ok(Some(vec![one.clone(), other.clone()])));
	assert_eq!(all(&[Some(&one), None]), Err(MembersError::Mixed(vec!["w1".into()])));
	assert_eq!(all(&[Some(&one), Some(&one)]), Err(MembersError::Twice(one.clone())));
}

/// A model of so many layers, split over so many equal workers, each part held so many times.
fn placement(layers: u32, workers: usize, redundancy: usize) -> Placement {
	let config = ModelConfig { layers, ..presets::tiny().0 };
	let node = |number: usize| Node {
		name: number.to_string(),
		memory: 1 << 30,
		speed: Speed { flops: 1e9, bytes: 1e9 },
		reputation: 500,
		uptime: 1.0,
		roles: Roles::ALL,
	};
	let nodes: Vec<Node> = (0..workers).map(node).collect();
	let links = Links::new(workers, |_, _| Some(Link { latency: 1e-4, bandwidth: 1e9 })).unwrap();
	let (split, most_spans) = (Split::MemoryWeighted, most_spans(redundancy));
	let request = crate::placement::Request { split, redundancy, most_spans, ..Default::default() };
	place(&held(&config, Class::ExactF32, 4).unwrap(), &nodes, &links, &request).unwrap()
}

#[test]
fn the_ring_of_an_offer_has_every_layer_as_often_as_it_is_held() {
	for (layers, workers, redundancy) in [(2, 2, 1), (5, 3, 1), (4, 4, 2), (6, 3, 3), (40, 40, 2)] {
		let accounts: Vec<AccountId> = (0..workers).map(|number| account(u8::try_from(number).unwrap())).collect();
		let placement = placement(layers, workers, redundancy);
		let ring = ring(&placement, &accounts).unwrap();
		assert_eq!(ring.len(), placement.spans.len());
		for (span, placed) in ring.iter().zip(&placement.spans) {
			assert_eq!(
				(&span.who, usize::from(span.first), usize::from(span.layers)),
				(&accounts[placed.node], placed.first, placed.layers)
			);
		}
		let offer = Offer { redundancy: u8::try_from(redundancy).unwrap(), ring, ..offer(&[]) };
		assert_eq!(offer.ring_problem(layers), None, "{layers} layers, {workers} workers, {redundancy} times");
	}
	let mut long = placement(2, 2, 1);
	long.spans = long.spans.iter().cycle().take(33).cloned().collect();
	assert_eq!(ring(&long, &[account(0), account(1)]), Err(MembersError::Spans(33)));
	long.spans.truncate(1);
	long.spans[0].layers = 1 << 16;
	assert_eq!(ring(&long, &[account(0), account(1)]), Err(MembersError::Layers));
}

#[test]
fn a_driver_waits_for_those_who_have_not_agreed_to_this_offer() {
	let [driver, one, other] = [account(1), account(2), account(3)];
	let ours = offer(&[span(&one, 0, 1), span(&other, 1, 1)]);
	let of = |view: Option<OfferView>| Consent::of(&driver, &ours, view.as_ref());
	assert_eq!(of(Some(view(&driver, ours.clone(), &[]))), Consent::Waits(vec![one.clone(), other.clone()]));
	assert_eq!(of(Some(view(&driver, ours.clone(), std::slice::from_ref(&other)))), Consent::Waits(vec![one.clone()]));
	assert_eq!(of(Some(view(&driver, ours.clone(), &[one.clone(), other.clone()]))), Consent::Ready);
	assert_eq!(of(None), Consent::Gone);
	assert_eq!(of(Some(view(&driver, offer(&[span(&one, 0, 2)]), std::slice::from_ref(&one)))), Consent::Gone);
}

#[test]
fn a_member_agrees_to_what_it_was_told_and_holds_and_to_nothing_else() {
	let [driver, me, other] = [account(1), account(2), account(3)];
	let (tasks, peer) = (Tasks::default(), peer());
	let good = offer(&[span(&me, 0, 1), span(&other, 1, 1)]);
	let decided = |offer: Option<Offer>, consents: &[AccountId]| {
		let all = decisions(&me, &tasks, offer.map(|offer| view(&driver, offer, consents)).as_ref());
		all.into_iter().next()
	};
	// Nothing is held for anybody, or not for an offer.
	assert_eq!(decided(Some(good.clone()), &[]), None);
	assert!(tasks.take(peer, &Hold { terms: None, ..hold(&driver, 0, 1) }).is_none());
	let seat = tasks.take(peer, &hold(&driver, 0, 1)).unwrap();
	assert_eq!(decided(Some(good.clone()), &[]), Some(Ok(Some(good.hash(&driver)))));
	assert_eq!(decided(Some(good.clone()), std::slice::from_ref(&other)), Some(Ok(Some(good.hash(&driver)))));
	assert_eq!(decided(Some(good.clone()), std::slice::from_ref(&me)), Some(Ok(None)));

	let differs = |change: fn(&mut Offer)| {
		let mut changed = good.clone();
		change(&mut changed);
		decided(Some(changed), &[]).unwrap().unwrap_err()
	};
	assert_eq!(decided(None, &[]), Some(Err(Difference::Nothing)));
	assert!(matches!(differs(|offer| offer.checkpoint.root = H256([2; 32])), Difference::Parameters { .. }));
	assert!(matches!(differs(|offer| offer.class = Class::ExactInt8), Difference::Class { .. }));
	assert!(matches!(differs(|offer| offer.prices.prompt += 1), Difference::Prices { .. }));
	assert!(matches!(differs(|offer| offer.prices.generated -= 1), Difference::Prices { .. }));
	assert!(matches!(differs(|offer| offer.redundancy = 2), Difference::Redundancy { .. }));
	for ring in [&[span(&me, 0, 2)][..], &[span(&me, 1, 1), span(&other, 0, 1)], &[span(&other, 0, 2)], &[span(&me, 0, 1), span(&me, 1, 1)]]
	{
		assert!(matches!(decided(Some(offer(ring)), &[]), Some(Err(Difference::Spans { .. }))), "{ring:?}");
	}

	// It holds two parts, and both are on the offer, or it is another one.
	let second = tasks.take(peer, &hold(&driver, 1, 1)).unwrap();
	assert!(matches!(decided(Some(good.clone()), &[]), Some(Err(Difference::Spans { .. }))));
	let both = offer(&[span(&me, 0, 1), span(&me, 1, 1)]);
	assert_eq!(decided(Some(both.clone()), &[]), Some(Ok(Some(both.hash(&driver)))));
	drop(second);
	// Another connection of the same driver says something else.
	let dearer = Terms { prices: Prices { prompt: 3, ..PRICES }, ..terms(&driver) };
	let other_told = tasks.take(peer, &Hold { terms: Some(dearer), ..hold(&driver, 0, 1) }).unwrap();
	assert_eq!(decided(Some(good.clone()), &[]), Some(Err(Difference::Contradiction)));
	drop((seat, other_told));
	assert_eq!(decided(Some(good), &[]), None);
}

/// A worker on this machine that holds parts of the model, and may name an account.
struct Worker {
	address: PeerAddress,
	tasks: Tasks,
	stop: CancellationToken,
	_streams: Streams,
	lending: JoinHandle<()>,
}

impl Worker {
	async fn start(account: Option<AccountId>) -> Self {
		let (stop, tasks, source) = (CancellationToken::new(), Tasks::default(), source());
		let listen = vec!["/ip4/127.0.0.1/udp/0/quic-v1".parse().unwrap()];
		let (streams, incoming, mut bound, _) = Streams::start(Keypair::generate_ed25519(), listen, stop.clone()).await.unwrap();
		let lent = Lent::measured(&source, &Exec::new(1).unwrap(), 1 << 30).unwrap();
		let lent = account.map_or(lent.clone(), |account| lent.of(account));
		let lending = tokio::spawn(lend(
			incoming,
			watch::channel(vec![source]).1,
			lent,
			Drivers::Anybody,
			(Some(tasks.clone()), Loaded::default()),
			stop.clone(),
		));
		Self { address: bound.remove(0), tasks, stop, _streams: streams, lending }
	}

	async fn end(self) {
		self.stop.cancel();
		self.lending.await.unwrap();
	}
}

/// A chain that has these providers.
async fn chain(providers: Vec<(AccountId, ProviderView)>) -> MockNode {
	let node = MockNode::start(Script { blocks_a_look: 1, fate: |_| Fate::Included }).await;
	node.answer_by("Staking", "provider", move |who| {
		providers.iter().find(|(account, _)| account.encode() == who).map(|(_, view)| view.clone()).encode()
	});
	node
}

fn options_of(workers: &[&Worker]) -> Options {
	options(workers.iter().map(|worker| worker.address.clone()).collect())
}

/// Sets up a ring of these workers, as `driver`.
async fn ring_of(
	workers: &[&Worker],
	offering: Option<Offering>,
	streams: &Streams,
	stop: &CancellationToken,
) -> Result<Started, RingError> {
	let options = options_of(workers);
	// Nothing is noted anywhere.
	let base = tempfile::tempdir().unwrap();
	start(streams, source(), options, Liars::read(base.path()).unwrap(), offering, stop.clone()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_lied_to_a_driver_is_in_none_of_its_rings_and_paid_by_none_of_its_offers() {
	let [driver_account, one, other] = [account(1), account(2), account(3)];
	let (first, second) = (Worker::start(Some(one.clone())).await, Worker::start(Some(other.clone())).await);
	let providers = vec![(one.clone(), registered(&first.address.peer)), (other.clone(), registered(&second.address.peer))];
	let node = chain(providers).await;
	let offering = Some(Offering { client: node.client().await, terms: terms(&driver_account) });
	let (streams, stop) = driver().await;
	let base = tempfile::tempdir().unwrap();
	let ring = async || {
		let options = options_of(&[&first, &second]);
		start(&streams, source(), options, Liars::read(base.path()).unwrap(), offering.clone(), stop.clone()).await
	};
	let started = ring().await.unwrap();
	assert_eq!(Offer { ring: started.ring.unwrap(), ..offer(&[]) }.members(&driver_account), [one.clone(), other.clone()].into());
	assert!(!started.reports.lie().is_cancelled());
	started.reports.lied(&second.address.peer.to_string(), "told wrong rows of layers 1 to 3".to_owned());
	assert!(started.reports.lie().is_cancelled());
	// Started again.
	let again = ring().await.unwrap();
	assert_eq!(Offer { ring: again.ring.unwrap(), ..offer(&[]) }.members(&driver_account), [one].into());
	again.reports.lied(&first.address.peer.to_string(), "told wrong rows of layers 0 to 3".to_owned());
	let words = ring().await.err().unwrap().to_string();
	assert!(words.contains("told wrong rows of layers 1 to 3") && words.contains("ring-liars"), "{words}");
	stop.cancel();
}

async fn driver() -> (Streams, CancellationToken) {
	let stop = CancellationToken::new();
	let (streams, ..) = Streams::start(Keypair::generate_ed25519(), Vec::new(), stop.clone()).await.unwrap();
	(streams, stop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ring_has_the_accounts_of_those_who_hold_it_and_not_of_one_that_names_another_account() {
	let [driver_account, one, other] = [account(1), account(2), account(3)];
	let (first, second) = (Worker::start(Some(one.clone())).await, Worker::start(Some(other.clone())).await);
	// It says that it is the second one.
	let impostor = Worker::start(Some(other.clone())).await;
	let anonymous = Worker::start(None).await;
	let providers = vec![(one.clone(), registered(&first.address.peer)), (other.clone(), registered(&second.address.peer))];
	let node = chain(providers).await;
	let offering = Some(Offering { client: node.client().await, terms: terms(&driver_account) });
	let (streams, stop) = driver().await;

	let started = ring_of(&[&impostor, &first, &second], offering.clone(), &streams, &stop).await.unwrap();
	let offered = Offer { ring: started.ring.clone().unwrap(), ..offer(&[]) };
	assert_eq!(offered.ring_problem(source().config.layers), None);
	assert_eq!(offered.members(&driver_account), [one.clone(), other.clone()].into());
	for (worker, who) in [(&first, &one), (&second, &other)] {
		let decided = decisions(who, &worker.tasks, Some(&view(&driver_account, offered.clone(), &[])));
		assert_eq!(decided, [Ok(Some(offered.hash(&driver_account)))]);
	}
	assert!(decisions(&other, &impostor.tasks, None).is_empty(), "nothing is held there");
	stop.cancel();

	let (streams, stop) = driver().await;
	let alone = ring_of(&[&impostor], offering.clone(), &streams, &stop).await.map(drop).unwrap_err().to_string();
	assert!(alone.contains("registered with the identity") && alone.contains(&impostor.address.peer.to_string()), "{alone}");
	let mixed = ring_of(&[&first, &anonymous], offering.clone(), &streams, &stop).await.map(drop).unwrap_err();
	assert!(matches!(&mixed, RingError::Members(MembersError::Mixed(who)) if *who == [anonymous.address.peer.to_string()]), "{mixed}");
	// Who offers nothing, or is paid alone, does not ask whose accounts they are.
	assert!(ring_of(&[&anonymous], offering, &streams, &stop).await.unwrap().ring.is_none());
	assert!(ring_of(&[&impostor, &anonymous], None, &streams, &stop).await.unwrap().ring.is_none());
	assert!(decisions(&other, &impostor.tasks, None).is_empty());
	stop.cancel();
	for worker in [first, second, impostor, anonymous] {
		worker.end().await;
	}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_those_who_are_found_only_accounts_are_on_an_offer_and_one_without_keeps_nobody_from_it() {
	let [driver_account, one] = [account(1), account(2)];
	let (first, anonymous) = (Worker::start(Some(one.clone())).await, Worker::start(None).await);
	let node = chain(vec![(one.clone(), registered(&first.address.peer))]).await;
	let offering = Some(Offering { client: node.client().await, terms: terms(&driver_account) });
	let (streams, stop) = driver().await;
	let base = tempfile::tempdir().unwrap();
	let found = async |workers: &[&Worker]| {
		let members = options_of(workers).members;
		let find: Find = Arc::new({
			let members = members.clone();
			move |_| members.clone()
		});
		let options = Options { find: Some(find), ..options_of(workers) };
		start(&streams, source(), options, Liars::read(base.path()).unwrap(), offering.clone(), stop.clone()).await
	};
	let started = found(&[&anonymous, &first]).await.unwrap();
	assert_eq!(Offer { ring: started.ring.unwrap(), ..offer(&[]) }.members(&driver_account), [one].into());
	let alone = found(&[&anonymous]).await.map(drop).unwrap_err();
	assert!(matches!(&alone, RingError::Nobody(words) if words[0].contains("names no account")), "{alone}");
	stop.cancel();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_takes_note_of_why_its_account_is_not_used() {
	let (mut ours, theirs) = tokio::io::duplex(1 << 20);
	let profile = Profile { parameters: PARAMETERS, memory: 1, bandwidth: 1, flops: 1, account: Some(account(1)) };
	let answering = tokio::spawn(answer(theirs, watch::channel(vec![source()]).1, profile, None, Loaded::default()));
	let unfit = is_member(&account(1), &peer(), Some(&registered(&peer()))).unwrap_err();
	send(&mut ours, &frame(&Request::Unfit(unfit), &[])).await.unwrap();
	assert_eq!(receive::<Reply>(&mut ours).await.unwrap(), (Reply::Noted, Vec::new()));
	drop(ours);
	answering.await.unwrap().unwrap();
}

/// Shows an offer on the chain, which changes.
fn shows(node: &MockNode, shown: Option<OfferView>) {
	node.answer("Inference", "offer_of", &shown);
	node.answer("Inference", "offers", &shown.into_iter().collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_sends_its_consent_when_the_offer_is_there_and_takes_it_back_when_it_ends() {
	let (driver, peer) = (account(1), peer());
	let node = chain(vec![(driver.clone(), registered(&peer))]).await;
	node.fund(1 << 60);
	let (client, submitter, mut submitted) = (node.client().await, node.submitter().await, node.submitted());
	let me = submitter.who().clone();
	let (good, other) = (offer(&[span(&me, 0, 1), span(&account(9), 1, 1)]), offer(&[span(&me, 0, 2)]));
	shows(&node, Some(view(&driver, other, &[])));
	let (tasks, stop) = (Tasks::default(), CancellationToken::new());
	let running = tokio::spawn(Member::new(client.clone(), submitter, tasks.clone()).run(stop.clone()));
	let _seat = tasks.take(peer, &hold(&driver, 0, 1)).unwrap();
	// Somebody who is not the driver says that it is.
	let _stranger = tasks.take(self::peer(), &hold(&driver, 0, 2)).unwrap();
	let blocks = async |count: u32| {
		let mut heads = client.follow(Default::default(), |_| {});
		let first = client.heads().await.unwrap().best.number;
		heads.wait_for(|heads| heads.best.number > first + count).await.unwrap();
	};
	blocks(4).await;
	assert!(submitted.borrow().is_empty(), "another offer was agreed to");

	shows(&node, Some(view(&driver, good.clone(), &[])));
	tokio::time::timeout(SOON, submitted.wait_for(|all| !all.is_empty())).await.unwrap().unwrap();
	shows(&node, Some(view(&driver, good.clone(), std::slice::from_ref(&me))));
	blocks(4).await;
	let joins = submitted.borrow().len();
	stop.cancel();
	tokio::time::timeout(SOON, running).await.unwrap().unwrap();
	let sent: HashSet<Vec<u8>> = submitted.borrow()[joins..].iter().cloned().collect();
	assert_eq!(sent.len(), 1, "one call takes it back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_is_told_when_all_have_agreed_and_when_one_has_left() {
	let (driver, one) = (account(1), account(2));
	let node = chain(Vec::new()).await;
	let ours = offer(&[span(&one, 0, 2)]);
	shows(&node, Some(view(&driver, ours.clone(), &[])));
	let ((told, mut ready), stop, mut tasks) = (watch::channel(false), CancellationToken::new(), JoinSet::new());
	let watching = Watch { client: node.client().await, driver: driver.clone(), offer: ours.clone() };
	tasks.spawn(watching.run(told, stop.clone()));
	ready.changed().await.unwrap();
	assert!(!*ready.borrow_and_update());
	for (consents, expected) in [(vec![one.clone()], true), (Vec::new(), false)] {
		shows(&node, Some(view(&driver, ours.clone(), &consents)));
		tokio::time::timeout(SOON, ready.wait_for(|ready| *ready == expected)).await.unwrap().unwrap();
	}
	stop.cancel();
	tasks.join_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_answers_providers_with_the_role_of_a_driver_and_nobody_else() {
	let peers = [peer(), peer(), peer()];
	let with = |peer: &PeerId, role| {
		let mut view = registered(peer);
		view.info.roles = neuroshard_types::provider::Roles::only(role);
		view
	};
	let node = chain(vec![(account(1), with(&peers[0], Role::Driver)), (account(2), with(&peers[1], Role::Worker))]).await;
	let listed = [1, 2].map(|number| (account(number), PeerIdBytes::truncate_from(peers[usize::from(number) - 1].to_bytes())));
	node.answer_by("Staking", "active_peers", move |_| {
		let page: Vec<_> = listed
			.iter()
			.map(|(account, peer)| (account.clone(), peer.clone(), neuroshard_types::provider::Addresses::default()))
			.collect();
		(page, None::<AccountId>).encode()
	});
	let mut drivers = Drivers::Registered(Registered::new(node.client().await));
	let mut refused = Vec::new();
	for peer in &peers {
		refused.push(drivers.refusal(peer).await.is_some());
	}
	assert_eq!(refused, [false, true, true]);
	let mut named = Drivers::Named([peers[2]].into());
	assert!(named.refusal(&peers[2]).await.is_none() && named.refusal(&peers[0]).await.is_some());
	assert!(Drivers::Anybody.refusal(&peers[1]).await.is_none());
}
