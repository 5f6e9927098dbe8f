//! `offer`: a provider's offer of answers, and the end of it.

use super::{
	money::unsent,
	open::{open, Opened},
	CliError, Common,
};
use clap::{ArgGroup, Args};
use neuroshard_chain_client::{inference, ChainError, Neuro};
use neuroshard_provider::paid::{owed, Lock, Owed, Signed};
use neuroshard_support::counted::counted;
use neuroshard_types::{
	inference::{OfferView, SessionId, SessionView},
	AccountId, Balance, BlockNumber,
};
use std::{collections::BTreeMap, io, path::Path};

/// Sessions that are looked at in one block.
const A_BLOCK: SessionId = 64;

#[derive(Debug, Default, Args)]
#[command(group(ArgGroup::new("end").args(["close", "withdraw"])))]
pub(super) struct OfferCommand {
	/// Close the session with this number, or settle it if its delay is over. May be given several times, or with commas between numbers.
	#[arg(long, value_name = "SESSION", value_delimiter = ',')]
	close: Vec<SessionId>,
	/// Withdraw the offer: close all sessions, and once they are settled, take it back. Called again later, goes on.
	#[arg(long)]
	withdraw: bool,
	/// Go on without what is owed and cannot be claimed, and without what users have not signed for: both are lost. With --close, of these sessions alone.
	#[arg(long, requires = "end")]
	forgo: bool,
}

/// A session that pays this provider, or may, and is not settled.
#[derive(Clone, Debug)]
struct Known {
	view: SessionView,
	voucher: Option<Signed>,
	/// Planck of answers that its user has not signed for.
	unsigned: Balance,
	/// Planck that were paid.
	paid: Balance,
}

impl Known {
	/// What the last voucher pays, and was not claimed yet.
	fn unclaimed(&self) -> Balance {
		let signed = self.voucher.as_ref().map_or(0, |(voucher, _)| voucher.amount);
		signed.saturating_sub(self.paid).min(self.view.escrow)
	}

	/// The next step in block `now`.
	fn step(&self, now: BlockNumber) -> Step {
		match self.view.closes_at {
			_ if self.view.provider.is_none() => Step::Nothing,
			None => Step::Close,
			Some(block) if block > now => Step::Wait(block),
			Some(_) => Step::Settle,
		}
	}

	/// All of it in block `now`, in a line.
	fn line(&self, session: SessionId, now: BlockNumber) -> String {
		let state = match self.step(now) {
			Step::Nothing => "prepaid, its user closes it".into(),
			Step::Close => "open".into(),
			Step::Wait(block) => format!("closed, can be settled from block {block} on, {} from now", block.saturating_sub(now)),
			Step::Settle => "closed, can be settled".into(),
		};
		let (left, paid) = (Neuro(self.view.escrow), Neuro(self.paid));
		let mut line = format!("session {session}  {state}; {left} left, {paid} claimed");
		for (amount, words) in [(self.unclaimed(), "to be claimed"), (self.unsigned, "not signed for")] {
			if amount > 0 {
				line += &format!(", {} {words}", Neuro(amount));
			}
		}
		line
	}
}

/// What a provider does about a session on the way to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
	/// It is its user's.
	Nothing,
	Close,
	/// Up to this block.
	Wait(BlockNumber),
	Settle,
}

/// A provider's sessions, by their numbers.
type Sessions = BTreeMap<SessionId, Known>;

impl OfferCommand {
	pub(super) async fn run(self, common: &Common) -> Result<u8, CliError> {
		let opened = open(common).await?;
		self.act(&opened).await?;
		Ok(0)
	}

	async fn act(&self, opened: &Opened) -> Result<(), CliError> {
		let at = opened.client.now().await?;
		at.check_compatible()?;
		let (folder, now) = (opened.base.join("sessions"), at.block().number);
		let ends = self.withdraw || !self.close.is_empty();
		if ends && !self.forgo && !folder.is_dir() {
			return Err(CliError::NoAccounts { path: folder });
		}
		// Nobody begins to serve while this command ends something.
		let lock = if ends && folder.is_dir() { Lock::take(&folder).map_err(CliError::file(&folder)).map(Some)? } else { None };
		let serves = matches!(lock, Some(None));
		let (offer, accounts) = (at.offer_of(&opened.who).await?, accounts(&folder)?);
		// All that are not settled are looked for, unless some are named.
		let all = if self.close.is_empty() { offer.as_ref().map_or(0, |view| view.sessions) } else { 0 };
		let sessions = sessions(opened, accounts, &self.close, all).await?;
		if !ends {
			show(&opened.who, offer.as_ref(), &sessions, now).iter().for_each(|line| println!("{line}"));
			return Ok(());
		}
		let chosen = if self.withdraw { sessions } else { self.chosen(sessions, &opened.who)? };
		if self.withdraw && offer.is_none() {
			println!("nothing is offered");
			return Ok(());
		}
		let mut kept: Balance = 0;
		for (session, known) in &chosen {
			kept = kept.saturating_add(self.end(opened, *session, known, now).await?);
		}
		if kept > 0 {
			return Err(CliError::Unclaimed { amount: Neuro(kept) });
		}
		match self.withdraw {
			true => withdraw(opened, serves).await,
			false => Ok(()),
		}
	}

	/// The sessions that were named.
	fn chosen(&self, mut sessions: Sessions, who: &AccountId) -> Result<Sessions, CliError> {
		let mut chosen = Sessions::new();
		for session in &self.close {
			let known = sessions.remove(session).or_else(|| chosen.remove(session));
			let known = known.ok_or_else(|| CliError::Unknown(format!("session {session} that pays {who}, and is not settled")))?;
			if known.view.provider.is_none() {
				return Err(CliError::Invalid(format!("session {session} is prepaid: only its user closes it")));
			}
			chosen.insert(*session, known);
		}
		Ok(chosen)
	}

	/// Takes the next step towards the end of a session. Returns what is owed, and keeps that step from being taken.
	async fn end(&self, opened: &Opened, session: SessionId, known: &Known, now: BlockNumber) -> Result<Balance, CliError> {
		// Also while `serve` runs, which puts off what is worth little, and claims nothing before it can offer something.
		let unclaimed = claim(opened, session, known).await?;
		let keeps = unclaimed > 0 && !self.forgo;
		match known.step(now) {
			Step::Close if known.unsigned > 0 && !self.forgo => {
				println!(
					"{} of answers in session {session} are not signed for by its user, who does that with the next question",
					Neuro(known.unsigned)
				);
				Ok(known.unsigned)
			}
			Step::Close => {
				let included = opened.submitter.submit_once(inference::close_session(session)).await.map_err(unsent)?;
				println!("session {session} is closed");
				let closing = opened.client.at(included.block).await?.session(session).await?.and_then(|view| view.closes_at);
				if let Some(block) = closing {
					println!("it can be settled from block {block} on");
				}
				Ok(0)
			}
			Step::Wait(block) => {
				println!("session {session} is closed: it can be settled from block {block} on, {} from now", block.saturating_sub(now));
				Ok(0)
			}
			Step::Settle | Step::Nothing if keeps => {
				println!("session {session} owes {} that are not claimed", Neuro(unclaimed));
				Ok(unclaimed)
			}
			Step::Settle => {
				opened.submitter.submit_once(inference::settle(session)).await.map_err(unsent)?;
				println!("session {session} is settled");
				Ok(0)
			}
			Step::Nothing => Ok(0),
		}
	}
}

/// What sessions owe, as the accounts in `folder` say. A folder that is not there has none.
fn accounts(folder: &Path) -> Result<Vec<Owed>, CliError> {
	match owed(folder) {
		Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
		accounts => accounts.map_err(CliError::file(folder)),
	}
}

/// Sessions that pay this provider and are not settled: those with `accounts`, those that are `named`, and the others of the `offered` ones that the chain
/// counts.
async fn sessions(opened: &Opened, accounts: Vec<Owed>, named: &[SessionId], offered: u32) -> Result<Sessions, ChainError> {
	let (mut at, who, mut sessions) = (opened.client.now().await?, &opened.who, Sessions::new());
	let known = |session: &SessionId| accounts.iter().any(|owed| owed.session == *session);
	let named = named.iter().filter(|session| !known(session)).map(|session| Owed { session: *session, voucher: None, unsigned: 0 });
	let named: Vec<Owed> = named.collect();
	for Owed { session, voucher, unsigned } in accounts.into_iter().chain(named) {
		let view = at.session(session).await?.filter(|view| view.provider.as_ref().is_none_or(|paid| paid == who));
		if let Some(view) = view {
			let paid = at.claimed(session, who).await?.paid;
			sessions.insert(session, Known { view, voucher, unsigned, paid });
		}
	}
	let bound = sessions.values().filter(|known| known.view.provider.is_some()).count();
	let mut missing = usize::try_from(offered).unwrap_or(usize::MAX).saturating_sub(bound);
	let mut session = if missing > 0 { at.next_session().await? } else { 0 };
	// The chain has no list of them. The newest ones come first: few of the old ones are not settled.
	while let (Some(before), true) = (session.checked_sub(1), missing > 0) {
		session = before;
		if sessions.contains_key(&session) {
			continue;
		}
		if session.is_multiple_of(A_BLOCK) {
			// Nodes forget what was in old blocks.
			at = opened.client.now().await?;
		}
		let view = at.session(session).await?.filter(|view| view.provider.as_ref() == Some(who));
		if let Some(view) = view {
			let paid = at.claimed(session, who).await?.paid;
			sessions.insert(session, Known { view, voucher: None, unsigned: 0, paid });
			missing = missing.saturating_sub(1);
		}
	}
	Ok(sessions)
}

/// An offer of `who` and its sessions in block `now`, in lines for people.
fn show(who: &AccountId, offer: Option<&OfferView>, sessions: &Sessions, now: BlockNumber) -> Vec<String> {
	let mut lines = vec![format!("provider   {who}")];
	match offer {
		None => lines.push("offer      none".into()),
		Some(OfferView { offer, ready, sessions, deposit, .. }) => {
			let ready = if *ready { "ready" } else { "waits until all members of the ring have agreed" };
			let thousand = |price: Balance| Neuro(price.saturating_mul(1_000));
			lines.push(format!("offer      run {}, round {}; {ready}", offer.checkpoint.run, offer.checkpoint.round));
			lines.push(format!("endpoint   {:?}", String::from_utf8_lossy(&offer.endpoint)));
			lines.push(format!(
				"price      {} for 1000 tokens of an answer, {} for 1000 of a prompt",
				thousand(offer.prices.generated),
				thousand(offer.prices.prompt)
			));
			lines.push(format!("deposit    {}", Neuro(*deposit)));
			lines.push(format!("sessions   {sessions} not settled"));
		}
	}
	lines.extend(sessions.iter().map(|(session, known)| known.line(*session, now)));
	lines
}

/// Claims what a session owes. Returns what is not claimed afterwards, and could be.
async fn claim(opened: &Opened, session: SessionId, known: &Known) -> Result<Balance, CliError> {
	let unclaimed = known.unclaimed();
	let Some((voucher, signature)) = known.voucher.clone().filter(|_| unclaimed > 0) else { return Ok(0) };
	match opened.submitter.submit_once(inference::claim(voucher, signature)).await {
		Ok(_) => {
			println!("claimed {} of session {session}", Neuro(unclaimed));
			Ok(0)
		}
		Err(error @ ChainError::Dispatch { .. }) => {
			println!("{} of session {session} could not be claimed: {error}", Neuro(unclaimed));
			// Nothing of it ever can, or `serve` was sooner.
			let none = error.is_dispatch("Inference::AnswerCondemned") || error.is_dispatch("Inference::StaleVoucher");
			Ok(if none { 0 } else { unclaimed })
		}
		Err(error) => Err(unsent(error)),
	}
}

/// Takes the offer back if no session is left with it, and says else when that can be.
async fn withdraw(opened: &Opened, serves: bool) -> Result<(), CliError> {
	let at = opened.client.now().await?;
	let Some(view) = at.offer_of(&opened.who).await? else { return Ok(()) };
	if view.sessions > 0 {
		println!("{} not settled: call `offer --withdraw` again when the delay is over", counted(view.sessions, "session"));
		println!(
			"users can open others until the offer is withdrawn; `neuroshard-worker update` with --roles, without `driver`, keeps them from it"
		);
		return Ok(());
	}
	if serves {
		return Err(CliError::Serving);
	}
	opened.submitter.submit_once(inference::withdraw_offer()).await.map_err(unsent)?;
	println!("the offer is withdrawn, and {} of deposit are back", Neuro(view.deposit));
	println!("`serve --provider` makes it again when it is started as a driver. Without that role, it goes on to defend and deliver what was answered");
	Ok(())
}

#[cfg(test)]
mod tests {
	use super::*;
	use codec::{Decode, Encode};
	use neuroshard_chain_client::{keys::Account, Call};
	use neuroshard_fixtures::Connect;
	use neuroshard_mock_node::{Fate, MockNode, Script};
	use neuroshard_provider::paid::write_account;
	use neuroshard_types::{
		inference::{CheckpointId, ClaimView, Class, Offer, Prices},
		H256, NEURO,
	};
	use sp_core::{sr25519, Pair};
	use tempfile::TempDir;

	const LATER: BlockNumber = 1_000_000;

	fn view(provider: Option<&AccountId>, closes_at: Option<BlockNumber>) -> SessionView {
		SessionView { user: AccountId::new([2; 32]), provider: provider.cloned(), escrow: 5 * NEURO, paid: 0, closes_at }
	}

	fn offer(who: &AccountId, sessions: u32) -> OfferView {
		let offer = Offer {
			checkpoint: CheckpointId { run: 3, round: 12, root: H256::zero() },
			class: Class::ExactF32,
			prices: Prices { prompt: NEURO / 100_000, generated: NEURO / 20_000 },
			redundancy: 1,
			endpoint: b"http://host".to_vec().try_into().unwrap(),
			ring: Default::default(),
		};
		OfferView {
			driver: who.clone(),
			offer,
			hash: H256::zero(),
			consents: Default::default(),
			ready: true,
			sessions,
			deposit: 2 * NEURO,
		}
	}

	/// A provider with accounts in its folder, on a node.
	struct Fixture {
		node: MockNode,
		opened: Opened,
		user: sr25519::Pair,
		_base: TempDir,
	}

	impl Fixture {
		/// With these sessions, of which the chain has more if their users never asked.
		async fn new(sessions: &[(SessionId, SessionView)]) -> Self {
			let node = MockNode::start(Script { blocks_a_look: 1, fate: |_| Fate::Included }).await;
			node.fund(100 * NEURO);
			let (client, submitter, base) = (node.client().await, node.submitter().await, tempfile::tempdir().unwrap());
			std::fs::create_dir(base.path().join("sessions")).unwrap();
			let who = submitter.who().clone();
			node.answer("Inference", "claimed", &ClaimView::default());
			node.answer("Inference", "next_session", &100u64);
			let opened = Opened { base: base.path().into(), account: Account::from_secret("//Alice").unwrap(), who, client, submitter };
			let fixture = Self { node, opened, user: sr25519::Pair::from_seed(&[1; 32]), _base: base };
			fixture.chain_has(sessions);
			fixture
		}

		fn chain_has(&self, sessions: &[(SessionId, SessionView)]) {
			let bound = sessions.iter().filter(|(_, view)| view.provider.as_ref() == Some(&self.opened.who)).count();
			self.node.answer("Inference", "offer_of", &Some(offer(&self.opened.who, u32::try_from(bound).unwrap())));
			let sessions: BTreeMap<_, _> = sessions.iter().cloned().collect();
			self.node.answer_by("Inference", "session", move |id| {
				let id = SessionId::decode(&mut &id[..]).unwrap();
				sessions.get(&id).encode()
			});
		}

		fn folder(&self) -> std::path::PathBuf {
			self.opened.base.join("sessions")
		}

		fn owes(&self, session: SessionId, signed: Balance, unsigned: Balance) {
			let (user, sign) = (AccountId::new(self.user.public().0), |message: &[u8]| self.user.sign(message).into());
			write_account(&self.folder(), session, (&self.opened.who, &user), sign, signed, unsigned).unwrap();
		}

		fn claim(&self, session: SessionId) -> Call {
			let account = owed(&self.folder()).unwrap().into_iter().find(|owed| owed.session == session).unwrap();
			let (voucher, signature) = account.voucher.unwrap();
			inference::claim(voucher, signature)
		}

		/// Asserts that exactly these calls were sent so far.
		async fn has_sent(&self, calls: &[Call]) {
			let (at, sent) = (self.opened.client.now().await.unwrap(), self.node.submitted().borrow().clone());
			assert_eq!(sent.len(), calls.len());
			for (extrinsic, call) in sent.iter().zip(calls) {
				assert!(extrinsic.ends_with(&at.call_data(call).unwrap()), "{}", call.describe());
			}
		}

		async fn act(&self, command: OfferCommand) -> Result<(), String> {
			command.act(&self.opened).await.map_err(|error| error.to_string())
		}
	}

	fn withdraw() -> OfferCommand {
		OfferCommand { withdraw: true, ..Default::default() }
	}

	fn close(session: SessionId) -> OfferCommand {
		OfferCommand { close: vec![session], ..Default::default() }
	}

	fn who() -> AccountId {
		Account::from_secret("//Alice").unwrap().id()
	}

	#[test]
	fn a_line_says_what_a_session_waits_for_and_what_it_owes() {
		let known = |closes_at, signed: Option<Balance>, paid| {
			let voucher = |amount| {
				let voucher =
					neuroshard_types::inference::Voucher { session: 7, provider: who(), amount, answers: 1, receipts: H256::zero() };
				(voucher, sp_runtime::MultiSignature::Sr25519(Default::default()))
			};
			Known { view: view(Some(&who()), closes_at), voucher: signed.map(voucher), unsigned: 0, paid }
		};
		assert_eq!(known(None, None, 0).line(7, 10), "session 7  open; 5 NEURO left, 0 NEURO claimed");
		let owes = Known { unsigned: NEURO / 10, ..known(Some(40), Some(2 * NEURO), NEURO) };
		let line = owes.line(7, 10);
		assert_eq!(
			line,
			"session 7  closed, can be settled from block 40 on, 30 from now; 5 NEURO left, 1 NEURO claimed, 1 NEURO to be claimed, 0.1 NEURO not signed for"
		);
		assert_eq!(owes.step(40), Step::Settle);
		// What the escrow does not have is not paid.
		assert_eq!(known(None, Some(9 * NEURO), NEURO).unclaimed(), 5 * NEURO);
		let prepaid = Known { view: view(None, None), ..owes };
		assert_eq!(prepaid.step(40), Step::Nothing);
	}

	#[tokio::test]
	async fn sessions_that_nobody_asked_in_are_found_and_those_of_others_are_not_shown() {
		let other = AccountId::new([9; 32]);
		let sessions = [
			(4, view(None, None)),
			(5, view(Some(&who()), None)),
			(20, view(Some(&other), None)),
			(21, view(None, None)),
			(30, view(Some(&who()), Some(3))),
		];
		let fixture = Fixture::new(&sessions).await;
		for session in [4, 30, 31] {
			fixture.owes(session, NEURO, 0);
		}
		let found = super::sessions(&fixture.opened, accounts(&fixture.folder()).unwrap(), &[], 2).await.unwrap();
		assert_eq!(found.keys().copied().collect::<Vec<_>>(), [4, 5, 30]);
		let lines = show(&who(), Some(&offer(&who(), 2)), &found, 10);
		assert!(
			lines.iter().any(|line| line == "price      0.05 NEURO for 1000 tokens of an answer, 0.01 NEURO for 1000 of a prompt"),
			"{lines:?}"
		);
		assert!(lines.iter().any(|line| line.starts_with("session 4  prepaid")), "{lines:?}");
		fixture.act(OfferCommand::default()).await.unwrap();
		fixture.has_sent(&[]).await;
	}

	#[tokio::test]
	async fn an_offer_is_withdrawn_when_its_sessions_are_settled_and_they_when_all_is_claimed() {
		let fixture = Fixture::new(&[(5, view(Some(&who()), None)), (6, view(Some(&who()), Some(1)))]).await;
		fixture.owes(6, NEURO, 0);
		fixture.act(withdraw()).await.unwrap();
		let mut calls = vec![inference::close_session(5), fixture.claim(6), inference::settle(6)];
		fixture.has_sent(&calls).await;
		// The delay of the other one is not over.
		fixture.chain_has(&[(5, view(Some(&who()), Some(LATER)))]);
		fixture.act(withdraw()).await.unwrap();
		fixture.has_sent(&calls).await;
		fixture.chain_has(&[(5, view(Some(&who()), Some(1)))]);
		fixture.act(close(5)).await.unwrap();
		calls.push(inference::settle(5));
		fixture.has_sent(&calls).await;
		fixture.chain_has(&[]);
		fixture.act(withdraw()).await.unwrap();
		calls.push(inference::withdraw_offer());
		fixture.has_sent(&calls).await;
		fixture.node.answer("Inference", "offer_of", &None::<OfferView>);
		fixture.act(withdraw()).await.unwrap();
		fixture.has_sent(&calls).await;
	}

	#[tokio::test]
	async fn while_the_provider_serves_what_is_owed_is_claimed_and_its_offer_stays() {
		let fixture = Fixture::new(&[(6, view(Some(&who()), Some(1)))]).await;
		fixture.owes(6, NEURO, 0);
		let serving = Lock::take(&fixture.folder()).unwrap();
		fixture.act(close(6)).await.unwrap();
		let mut calls = vec![fixture.claim(6), inference::settle(6)];
		fixture.has_sent(&calls).await;
		fixture.chain_has(&[]);
		let refused = fixture.act(withdraw()).await.unwrap_err();
		assert!(refused.contains("stop it first"), "{refused}");
		drop(serving);
		fixture.act(withdraw()).await.unwrap();
		calls.push(inference::withdraw_offer());
		fixture.has_sent(&calls).await;
	}

	#[tokio::test]
	async fn a_session_with_answers_that_its_user_has_not_signed_for_is_closed_only_if_that_is_said() {
		let fixture = Fixture::new(&[(6, view(Some(&who()), None))]).await;
		fixture.owes(6, NEURO, NEURO / 10);
		let refused = fixture.act(close(6)).await.unwrap_err();
		assert!(refused.starts_with("0.1 NEURO are owed") && refused.contains("--forgo"), "{refused}");
		fixture.has_sent(&[fixture.claim(6)]).await;
		fixture.node.answer("Inference", "claimed", &ClaimView { paid: NEURO, ..Default::default() });
		fixture.act(OfferCommand { forgo: true, ..close(6) }).await.unwrap();
		fixture.has_sent(&[fixture.claim(6), inference::close_session(6)]).await;
	}

	#[tokio::test]
	async fn what_cannot_be_claimed_is_given_up_only_if_that_is_said() {
		let mut fixture = Fixture::new(&[(4, view(None, None)), (6, view(Some(&who()), Some(1)))]).await;
		fixture.node =
			MockNode::start(Script { blocks_a_look: 1, fate: |number| if number < 2 { Fate::Failed } else { Fate::Included } }).await;
		fixture.node.fund(100 * NEURO);
		(fixture.opened.client, fixture.opened.submitter) = (fixture.node.client().await, fixture.node.submitter().await);
		fixture.node.answer("Inference", "claimed", &ClaimView::default());
		fixture.chain_has(&[(4, view(None, None)), (6, view(Some(&who()), Some(1)))]);
		fixture.owes(4, NEURO, 0);
		fixture.owes(6, NEURO, 0);
		let refused = fixture.act(withdraw()).await.unwrap_err();
		assert!(refused.starts_with("2 NEURO are owed"), "{refused}");
		fixture.has_sent(&[fixture.claim(4), fixture.claim(6)]).await;
		// Of the account in another folder nothing is known.
		std::fs::rename(fixture.folder(), fixture.opened.base.join("elsewhere")).unwrap();
		for command in [withdraw(), close(6)] {
			let refused = fixture.act(command).await.unwrap_err();
			assert!(refused.contains("--base-path") && refused.contains("--forgo"), "{refused}");
		}
		let forgo = OfferCommand { forgo: true, ..withdraw() };
		fixture.node.answer("Inference", "next_session", &10u64);
		fixture.act(forgo).await.unwrap();
		assert_eq!(fixture.node.submitted().borrow().len(), 3, "the session is settled");
		fixture.chain_has(&[]);
		fixture.act(OfferCommand { forgo: true, ..withdraw() }).await.unwrap();
		assert_eq!(fixture.node.submitted().borrow().len(), 4, "the offer is withdrawn");
	}

	#[tokio::test]
	async fn sessions_of_others_and_prepaid_ones_are_not_closed() {
		let fixture = Fixture::new(&[(4, view(None, None)), (5, view(Some(&AccountId::new([9; 32])), None))]).await;
		fixture.owes(4, NEURO, 0);
		let prepaid = fixture.act(close(4)).await.unwrap_err();
		assert!(prepaid.contains("only its user closes it"), "{prepaid}");
		let other = fixture.act(close(5)).await.unwrap_err();
		assert!(other.starts_with("there is no session 5"), "{other}");
		fixture.has_sent(&[]).await;
	}
}
