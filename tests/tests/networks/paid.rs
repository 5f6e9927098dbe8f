//! A model that a network has trained, served by a ring of its workers: users who know nothing of the chain ask by a gateway, which pays. The chain pays
//! the driver and each worker of the ring.

use crate::room::Load;
use neuroshard_chain_client::{ChainAt, ChainClient};
use neuroshard_e2e::{
	kept_unless_passed, until, within, Binaries, Ended, Layout, Network, Prepared, Preset, Rules, Service, Text, Training, View,
};
use neuroshard_types::{
	inference::{Offer, OfferView, SessionId},
	run::RunStatus,
	AccountId, Balance, BlockNumber, NEURO,
};
use std::{path::Path, process::Command, time::Duration};

/// Longest wait for the training, for a client, and for what the chain does.
const SOON: Duration = Duration::from_secs(300);
const ROUNDS: u32 = 2;
const ESCROW: u128 = 20;
/// Work is final within half a minute: then the model has owners, who are paid as well.
const RULES: Rules = Rules { window: 30, clock: 15, extension: 5, audits: None, answers: None, patient: false };
/// The first session of the chain.
const SESSION: SessionId = 0;
/// Pots of the owners of models, of the validators, and of the treasury.
const POTS: [&[u8; 8]; 3] = [b"ns/owner", b"ns/authr", b"py/trsry"];
/// More than what an extrinsic costs.
const FEE: Balance = NEURO / 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_of_a_ring_are_paid_from_the_escrow_of_a_user_to_the_driver_and_each_worker_and_the_rest_comes_back() {
	let _room = Load::Light.room().await;
	let mut folder = kept_unless_passed("paid").unwrap();
	let layout = Layout::create(folder.path().join("network"), None, 3).unwrap();
	let prepared = Prepared::new(&layout, Preset::Tiny, Text::Registry, 3..=3).await.unwrap().with_inner_steps(40);
	let mut network = Network::start(Binaries::find().unwrap(), layout, RULES).await.unwrap();
	let training = Training::sponsor(&network, prepared, Some(ROUNDS)).await.unwrap();
	network.add_workers(3, Some(&training.dataset), 1).await.unwrap();
	let mut known = None;
	until("the end of the run", SOON, async || {
		network.check()?;
		let view = View::look(&network, &training, known.clone()).await?;
		let over = view.run.status == RunStatus::Finished;
		known = Some(view);
		Ok(over.then_some(()))
	})
	.await
	.unwrap();

	// Somebody who is no provider cannot be paid for holding layers.
	let mut stranger = network.user_command("hold");
	stranger.arg("--provider");
	let refused = Ended::of(stranger).await.unwrap();
	assert!(!refused.success && refused.error.contains("is not registered as a provider"), "{}", refused.error);

	let mut service = Service::start(&mut network, &training).await.unwrap();
	let (client, provider) = (network.client().clone(), service.driver.account.clone());
	let workers = [0, 1].map(|worker| network.workers[worker].provider());
	// A block in which somebody agrees can lose against another one.
	let offered = async |what: &str, holds: fn(&OfferView, &[AccountId; 2]) -> bool| {
		let found = until(what, SOON, async || Ok(client.now().await?.offer_of(&provider).await?.filter(|view| holds(view, &workers))));
		found.await.unwrap().offer
	};
	let whole = |view: &OfferView, workers: &[AccountId; 2]| {
		view.ready && view.consents.len() == workers.len() && workers.iter().all(|worker| view.consents.contains(worker))
	};
	let offer = offered("both workers to agree", whole).await;
	assert_eq!((offer.members(&provider), offer.redundancy), (workers.iter().cloned().collect(), 1));
	assert_eq!(offer.ring_problem(training.model.layers), None);
	until("the model to have owners", SOON, async || {
		service.check()?;
		let owned = client.at(client.heads().await?.finalized).await?.owned(training.run).await?;
		Ok(owned.filter(|model| model.earning > 0))
	})
	.await
	.unwrap();
	let first = client.heads().await.unwrap().best.number;
	let mut command = network.user_command("gateway");
	command.args(["--escrow", &ESCROW.to_string()]);
	let mut gateway = service.gateway(command).await.unwrap();
	let address = gateway.address;
	let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients");
	for (program, script) in [("node".into(), "openai/main.mjs"), (clients.join("venv/bin/python"), "openai/main.py")] {
		let mut command = Command::new(program);
		command.arg(clients.join(script)).args([format!("http://{address}/v1"), format!("run-{}", training.run)]);
		let said = within(script, SOON, Ended::output_of(command)).await.unwrap().unwrap();
		println!("{said}");
	}
	service.check().unwrap();
	gateway.process.check().unwrap();
	gateway.process.stop().await;

	// The last voucher was sent when the gateway ended.
	let before = client.now().await.unwrap().session(SESSION).await.unwrap().unwrap();
	assert_eq!((before.provider, before.escrow + before.paid), (Some(provider.clone()), ESCROW * NEURO));
	let mut close = network.user_command("gateway");
	close.args(["--provider", &provider.to_string(), "--close"]);
	Ended::output_of(close).await.unwrap();
	let paid = until("the driver to claim what it is owed", SOON, async || {
		service.check()?;
		let now = client.now().await?;
		let (session, claimed) = (now.session(SESSION).await?, now.claimed(SESSION, &provider).await?);
		let whole = session.is_some_and(|session| session.closes_at.is_some() && session.paid == claimed.owed);
		Ok((whole && claimed.paid == claimed.owed && claimed.answers > 20).then_some(claimed.paid))
	});
	let paid = paid.await.unwrap();
	// About two thousand tokens at a NEURO for a thousand of them.
	assert!(paid > NEURO / 2 && paid < ESCROW * NEURO, "{paid}");

	// A worker that ends agrees to nothing any more. What has begun goes on. When it comes back, it agrees again.
	service.holders[0].ask_to_stop();
	assert!(service.holders[0].ended_by_itself(SOON).await.unwrap().success());
	let alone = |view: &OfferView, workers: &[AccountId; 2]| !view.ready && view.consents[..] == workers[1..];
	assert_eq!(offered("one worker to agree no more", alone).await, offer);
	until("the driver to say that it waits", SOON, async || {
		let waits = format!("waiting for {} to agree to the offer;", workers[0]);
		Ok(service.driver.said()?.contains(&waits).then_some(()))
	})
	.await
	.unwrap();
	service.hold_again(&network, 0).await.unwrap();
	assert_eq!(offered("it to agree again", whole).await, offer);
	service.check().unwrap();
	until("the delay to be over, and the rest to come back", SOON, async || {
		let mut settle = network.user_command("gateway");
		settle.args(["--provider", &provider.to_string(), "--close"]);
		Ended::output_of(settle).await?;
		Ok(client.now().await?.session(SESSION).await?.is_none().then_some(()))
	})
	.await
	.unwrap();
	let last = client.heads().await.unwrap().best.number;
	// Something may have been owed still.
	assert!(payments(&client, &provider, &offer, first..last).await >= paid);
	network.stop().await;
	folder.disable_cleanup(false);
}

/// An account that nobody has a key of.
fn pot(name: &[u8; 8]) -> AccountId {
	let mut bytes = [0; 32];
	bytes[..4].copy_from_slice(b"modl");
	bytes[4..12].copy_from_slice(name);
	AccountId::new(bytes)
}

/// What somebody has, on hold or free.
async fn has(at: &ChainAt, who: &AccountId) -> Balance {
	let funds = at.funds(who).await.unwrap();
	funds.free + funds.held
}

/// Checks who was paid how much of each claim of `provider` in these blocks, to the planck: by what everybody has before and after it. What was claimed.
async fn payments(client: &ChainClient, provider: &AccountId, offer: &Offer, blocks: std::ops::Range<BlockNumber>) -> Balance {
	let (mut all, mut claims) = (0, 0);
	let mut before = client.at(client.block_at(blocks.start).await.unwrap()).await.unwrap();
	for number in blocks {
		let after = client.at(client.block_at(number + 1).await.unwrap()).await.unwrap();
		let [had, has_now] = [before.claimed(SESSION, provider).await.unwrap().paid, after.claimed(SESSION, provider).await.unwrap().paid];
		// It is forgotten with its session.
		if has_now > had {
			let amount = has_now - had;
			is_split(&before, &after, provider, offer, amount).await;
			(all, claims) = (all + amount, claims + 1);
		}
		if let Some(session) = after.session(SESSION).await.unwrap() {
			assert_eq!((session.paid, session.escrow + session.paid), (all, ESCROW * NEURO));
		}
		before = after;
	}
	println!("{claims} claims of {all} planck together");
	all
}

/// Checks that in the block between these states `amount` was split as it should be.
async fn is_split(before: &ChainAt, after: &ChainAt, driver: &AccountId, offer: &Offer, amount: Balance) {
	// The model has owners: those who trained it.
	let owners = amount / 10;
	let rest = amount - owners;
	let [to_driver, to_ring, to_validators, to_treasury] = [20, 40, 25, 5].map(|percent| rest * percent / 100);
	let burned = rest - to_driver - to_ring - to_validators - to_treasury;
	assert!(burned * 10 >= rest && burned <= rest / 10 + 5, "{burned} of {rest}");

	let gained = async |who: &AccountId| has(after, who).await.checked_sub(has(before, who).await);
	let all: Balance = offer.ring.iter().map(|span| Balance::from(span.layers)).sum();
	let (mut layers, mut given) = (0, 0);
	let mut consents = Vec::new();
	for at in [before, after] {
		consents.push(at.offer_of(driver).await.unwrap().unwrap().consents);
	}
	for span in &offer.ring {
		layers += Balance::from(span.layers);
		let part = to_ring * layers / all - given;
		given += part;
		// It pays for the extrinsic with which it leaves, or agrees.
		let fee = (has(before, &span.who).await + part).checked_sub(has(after, &span.who).await);
		let signs = consents[0].contains(&span.who) != consents[1].contains(&span.who);
		assert!(fee.is_some_and(|fee| if signs { fee > 0 && fee < FEE } else { fee == 0 }), "{}: {part} and {fee:?} of {amount}", span.who);
	}
	assert_eq!(given, to_ring);

	// Eras may end in the same block.
	let [was, is] = [before.issuance().await.unwrap(), after.issuance().await.unwrap()];
	let [of_owners, of_validators, of_treasury] = POTS.map(pot);
	assert_eq!(gained(&of_owners).await, Some(owners), "owners, of {amount}");
	assert_eq!(gained(&of_validators).await, Some(to_validators + is.to_validators - was.to_validators), "validators, of {amount}");
	assert_eq!(gained(&of_treasury).await, Some(to_treasury + is.to_treasury - was.to_treasury), "the treasury, of {amount}");
	assert_eq!(is.burned - was.burned, burned, "burned, of {amount}");
	// It pays for the extrinsic that claims.
	let fee = (has(before, driver).await + to_driver).checked_sub(has(after, driver).await);
	assert!(fee.is_some_and(|fee| fee > 0 && fee < FEE), "the driver pays {fee:?} for a claim of {amount}");
}
