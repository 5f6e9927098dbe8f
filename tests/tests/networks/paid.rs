//! A model that a network has trained, served by a ring of its workers: users who know nothing of the chain ask by a gateway, which pays.

use neuroshard_e2e::{kept_unless_passed, until, Binaries, Ended, Layout, Network, Prepared, Preset, Service, Text, Training, View, SLOT};
use neuroshard_types::{run::RunStatus, NEURO};
use std::{path::Path, process::Command, time::Duration};

/// Longest wait for the training, for a client, and for what the chain does.
const SOON: Duration = Duration::from_secs(300);
const ROUNDS: u32 = 2;
const ESCROW: u128 = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_of_a_ring_are_paid_from_the_escrow_of_a_user_to_the_driver_and_the_rest_comes_back() {
	let mut folder = kept_unless_passed("paid").unwrap();
	let layout = Layout::create(folder.path().join("network"), None, 3).unwrap();
	let prepared = Prepared::new(&layout, Preset::Tiny, Text::Registry, 3..=3).await.unwrap().with_inner_steps(40);
	let mut network = Network::start(Binaries::find().unwrap(), layout, SLOT, Preset::Tiny.rules_for(&[], 1)).await.unwrap();
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

	let mut service = Service::start(&mut network, &training).await.unwrap();
	let mut command = network.user_command("gateway");
	command.args(["--escrow", &ESCROW.to_string()]);
	let mut gateway = service.gateway(command).await.unwrap();
	let address = gateway.address;
	let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients");
	for (program, script) in [("node".into(), "openai/main.mjs"), (clients.join("venv/bin/python"), "openai/main.py")] {
		let mut command = Command::new(program);
		command.arg(clients.join(script)).args([format!("http://{address}/v1"), format!("run-{}", training.run)]);
		let said = tokio::time::timeout(SOON, Ended::output_of(command)).await.unwrap().unwrap();
		println!("{said}");
	}
	service.check().unwrap();
	gateway.process.check().unwrap();
	gateway.process.stop().await;

	// The first session of the chain. The last voucher was sent when the gateway ended.
	let (client, provider) = (network.client().clone(), service.driver.account.clone());
	let before = client.now().await.unwrap().session(0).await.unwrap().unwrap();
	assert_eq!((before.provider, before.escrow + before.paid), (Some(provider.clone()), ESCROW * NEURO));
	let mut close = network.user_command("gateway");
	close.args(["--provider", &provider.to_string(), "--close"]);
	Ended::output_of(close).await.unwrap();
	let paid = until("the driver to claim what it is owed", SOON, async || {
		service.check()?;
		let now = client.now().await?;
		let (session, claimed) = (now.session(0).await?, now.claimed(0, &provider).await?);
		let whole = session.is_some_and(|session| session.closes_at.is_some() && session.paid == claimed.owed);
		Ok((whole && claimed.paid == claimed.owed && claimed.answers > 20).then_some(claimed.paid))
	});
	let paid = paid.await.unwrap();
	// About two thousand tokens at a NEURO for a thousand of them.
	assert!(paid > NEURO / 2 && paid < ESCROW * NEURO, "{paid}");
	until("the delay to be over, and the rest to come back", SOON, async || {
		let mut settle = network.user_command("gateway");
		settle.args(["--provider", &provider.to_string(), "--close"]);
		Ended::output_of(settle).await?;
		Ok(client.now().await?.session(0).await?.is_none().then_some(()))
	})
	.await
	.unwrap();
	network.stop().await;
	folder.disable_cleanup(false);
}
