//! Clocks of this account in disputes: the time that it still has for its moves, told in status, metrics and log beside whatever makes the moves: that
//! may be what hangs.

use crate::{actor::told::Told, status::Reporter};
use neuroshard_chain_client::{ChainAt, ChainClient, ChainError};
use neuroshard_disputes::games::{mover, GameId};
use neuroshard_support::counted::counted;
use neuroshard_types::{
	dispute::{ClaimId, GameView},
	AccountId, BlockNumber,
};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Pause between two looks: two blocks.
const INTERVAL: Duration = Duration::from_secs(6);
/// It is warned when less than this part of a whole clock is left.
const LITTLE: BlockNumber = 4;

/// A game in which it is an account's turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turn {
	/// Claim that the game is about.
	pub claim: ClaimId,
	/// Account that disputes it.
	pub challenger: AccountId,
	/// Last block that the move may be in.
	pub deadline: BlockNumber,
}

impl Turn {
	/// The turn of `me` in a game, if it is.
	fn of(me: &AccountId, id: GameId, game: &GameView) -> Option<Self> {
		if mover(&id, game) != me {
			return None;
		}
		let (claim, challenger) = id;
		Some(Self { claim, challenger, deadline: game.deadline })
	}

	/// Blocks after block `now` that the move may be in.
	pub fn blocks_left(&self, now: BlockNumber) -> BlockNumber {
		self.deadline.saturating_sub(now)
	}
}

/// Of the games in which it is the turn of `me`, the one with the least time.
///
/// # Errors
/// The node is away, or its answer cannot be used.
pub async fn most_urgent(at: &ChainAt, me: &AccountId) -> Result<Option<Turn>, ChainError> {
	let mut turns = Vec::new();
	for id in at.games_of(me).await? {
		let Some(game) = at.game(&id.0, &id.1).await? else { continue };
		turns.extend(Turn::of(me, id, &game));
	}
	Ok(turns.into_iter().min_by_key(|turn| turn.deadline))
}

/// Tells `reporter`, and the log where there is little, how many blocks are left for the moves of `me`, until `stop` is cancelled.
pub async fn watch(client: ChainClient, me: AccountId, reporter: Reporter, stop: CancellationToken) {
	let watching = async {
		let (mut clock, mut told) = (None, Told::default());
		loop {
			// Whoever follows the heads says that the node is away.
			if let Err(error) = look(&client, &me, &reporter, &mut clock, &mut told).await {
				tracing::debug!("clocks of disputes: {error}");
			}
			tokio::time::sleep(INTERVAL).await;
		}
	};
	stop.run_until_cancelled(watching).await;
}

async fn look(
	client: &ChainClient,
	me: &AccountId,
	reporter: &Reporter,
	clock: &mut Option<BlockNumber>,
	told: &mut Told,
) -> Result<(), ChainError> {
	let at = client.now().await?;
	let (turn, now) = (most_urgent(&at, me).await?, at.block().number);
	let left = turn.as_ref().map(|turn| turn.blocks_left(now));
	reporter.update(|status| status.disputes.blocks_left = left);
	let (Some(turn), Some(left)) = (turn, left) else { return Ok(()) };
	let clock = match *clock {
		Some(known) => known,
		None => *clock.insert(at.dispute_terms().await?.clock),
	};
	let words = format!("round {} of run {} by {}, disputed by {}", turn.claim.round, turn.claim.run, turn.claim.who, turn.challenger);
	if is_little(left, clock) && told.is_new(&words, Instant::now()) {
		tracing::warn!(
			"{} left for this account's move in a dispute about {words}: whoever is silent then loses it",
			counted(left, "block")
		);
	}
	Ok(())
}

/// Returns whether `left` blocks are few where a side has `clock` blocks for all its moves.
fn is_little(left: BlockNumber, clock: BlockNumber) -> bool {
	left < clock.checked_div(LITTLE).unwrap_or_default()
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::status::Status;
	use neuroshard_fixtures::Connect;
	use neuroshard_graph::game::{Position, Side};
	use neuroshard_mock_node::MockNode;
	use neuroshard_types::{
		dispute::{ClaimKind, Terms},
		NEURO,
	};

	const OTHER: AccountId = AccountId::new([1; 32]);

	fn claim(who: &AccountId) -> ClaimId {
		ClaimId { run: 0, round: 4, kind: ClaimKind::Work, who: who.clone() }
	}

	fn game(turn: Side, deadline: BlockNumber) -> GameView {
		let defender = AccountId::new([7; 32]);
		GameView { position: Position::Checkpoints { count: 3 }, turn, deadline, reserve: 9, moves: vec![1], bond: NEURO, defender }
	}

	#[test]
	fn an_account_is_on_turn_as_who_defends_now_and_as_challenger() {
		let me = AccountId::new([7; 32]);
		let turn = |defender: &AccountId, challenger: &AccountId, side| {
			let game = GameView { defender: defender.clone(), ..game(side, 50) };
			// Whose claim it is says nothing: a member of a quorum defends its leader's.
			[&me, &OTHER].map(|who| Turn::of(&me, (claim(who), challenger.clone()), &game).map(|turn| turn.blocks_left(30)))
		};
		assert_eq!(turn(&me, &OTHER, Side::Defender), [Some(20); 2]);
		assert_eq!(turn(&OTHER, &me, Side::Challenger), [Some(20); 2]);
		assert_eq!(turn(&me, &OTHER, Side::Challenger), [None; 2]);
		assert_eq!(turn(&OTHER, &me, Side::Defender), [None; 2]);
	}

	#[test]
	fn less_than_a_quarter_of_a_clock_is_little() {
		assert!(!is_little(1_200, 4_800) && is_little(1_199, 4_800) && !is_little(0, 0));
	}

	#[tokio::test]
	async fn blocks_left_are_told_while_it_is_the_accounts_turn_and_only_then() {
		let node = MockNode::with_blocks(10).await;
		let (client, reporter) = (node.client().await, Reporter::new(Status::default()));
		let me = node.submitter().await.who().clone();
		node.answer("Disputes", "terms", &Terms { window: 30, clock: 40, extension: 100, bond: NEURO, most_games: 32 });
		let (mut clock, mut told) = (None, Told::default());
		let mut left = async || {
			look(&client, &me, &reporter, &mut clock, &mut told).await.unwrap();
			reporter.current().disputes.blocks_left
		};
		node.answer("Disputes", "games_of", &vec![(claim(&me), OTHER)]);
		node.answer("Disputes", "game", &Some(GameView { defender: me.clone(), ..game(Side::Defender, 17) }));
		assert_eq!(left().await, Some(7));
		node.grow(5);
		assert_eq!(left().await, Some(2));
		node.answer("Disputes", "game", &Some(game(Side::Challenger, 40)));
		assert_eq!(left().await, None);
	}
}
