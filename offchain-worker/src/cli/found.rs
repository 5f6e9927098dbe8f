//! Workers of a ring that are found in the directory: `serve --ring auto`.

use super::{
	directory::{self, Joined},
	local,
	open::create_base,
	reach::reach,
	start::connect,
	CliError, Common,
};
use neuroshard_inference::Readiness;
use neuroshard_network::{PeerAddress, PeerId, Reach};
use neuroshard_ring::{
	find::{holders, Resting, Wanted},
	start::{Find, RingError},
};
use neuroshard_types::H256;
use std::{
	collections::BTreeSet,
	net::SocketAddr,
	str::FromStr,
	sync::{Arc, OnceLock},
	time::{Duration, Instant},
};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Between two looks at the directory.
const LOOK: Duration = Duration::from_millis(500);
/// Time for which nobody has come, after which a ring is placed: those who come later only take the place of who is lost.
const SETTLED: Duration = Duration::from_secs(10);
/// Longest wait for that once somebody is there.
const LONGEST: Duration = Duration::from_secs(60);
/// Time after which a ring that could not be placed is tried again, if nobody has come or gone.
const AGAIN: Duration = Duration::from_secs(15);
/// Time for which holders of an offered ring may be away before another ring is offered.
const LOST: Duration = Duration::from_secs(60);
/// Longest wait for as many to have a newer checkpoint as the ring has members: then, those of its members who are there are enough.
const FOLLOWED: Duration = Duration::from_secs(120);

/// A value of `--ring`.
#[derive(Clone, Debug)]
pub(super) enum RingMember {
	/// Whoever the directory knows.
	Auto,
	/// This one.
	Named(PeerAddress),
}

impl FromStr for RingMember {
	type Err = String;

	fn from_str(text: &str) -> Result<Self, String> {
		match text {
			"auto" => Ok(Self::Auto),
			address => {
				address.parse().map(Self::Named).map_err(|error| format!("{error}; or `auto`, for workers that the directory knows"))
			}
		}
	}
}

/// The addresses of a ring's workers; `None` if they are to be found.
pub(super) fn named(ring: &[RingMember]) -> Result<Option<Vec<PeerAddress>>, CliError> {
	let named: Vec<PeerAddress> =
		ring.iter().filter_map(|member| if let RingMember::Named(named) = member { Some(named.clone()) } else { None }).collect();
	match (named.len() == ring.len(), named.is_empty()) {
		(true, _) => Ok(Some(named)),
		(false, true) => Ok(None),
		(false, false) => Err(CliError::Invalid("--ring auto finds the workers of the ring: name none beside it".into())),
	}
}

/// Where the workers of a ring are found.
pub(super) struct Found {
	joined: Joined,
	/// Which addresses may be dialled that they announce.
	pub(super) reach: Reach,
	/// Who could not be used lately.
	pub(super) resting: Resting,
	/// Where the driver listens since it answered first: it goes on there with another ring.
	pub(super) bound: OnceLock<SocketAddr>,
}

impl Found {
	/// Joins those who tell each other what they have; `None` if the driver is asked to stop meanwhile.
	pub(super) async fn open(common: &Common, dial_private: bool, stop: &CancellationToken) -> Result<Option<Self>, CliError> {
		let base = common.base()?;
		create_base(&base)?;
		let Some(client) = connect(&common.node, stop).await? else { return Ok(None) };
		let reach = reach(&client, &common.node, dial_private).await;
		let joined = directory::join(&base, "serve", &client, reach, None).await?;
		Ok(Some(Self { joined, reach, resting: Resting::default(), bound: OnceLock::new() }))
	}

	/// Says who has these parameters, of which all take so many bytes of memory, and is not left alone.
	pub(super) fn find(&self, parameters: H256, needed: u64) -> Find {
		let (known, resting) = (self.joined.known.clone(), self.resting.clone());
		let wanted = Wanted { parameters, needed, seed: rand::random() };
		Arc::new(move |passes| {
			let (directory, now) = known.look();
			let at = Instant::now();
			holders(&directory, now, &wanted, &|peer| passes(peer) && !resting.has(peer, at))
		})
	}

	pub(super) async fn leave(self) {
		self.joined.leave().await;
	}
}

/// Those who are there, once nobody comes any more; `None` if the driver is asked to stop meanwhile.
pub(super) async fn settled(find: &Find, stop: &CancellationToken) -> Option<Vec<PeerAddress>> {
	let (mut known, mut since, mut first): (Vec<PeerAddress>, _, Option<Instant>) = (Vec::new(), Instant::now(), None);
	loop {
		let now = find(&|_| true);
		if now.is_empty() && first.is_none() {
			println!("waiting for workers with this model: nobody that can be used announces it yet (`hold --announce` and `hold --provider` do)");
			first = Some(Instant::now());
			known.clear();
		}
		if now.len() != known.len() || now.iter().any(|one| !known.contains(one)) {
			if known.is_empty() {
				first = Some(Instant::now());
			}
			(known, since) = (now, Instant::now());
		}
		let over = since.elapsed() >= SETTLED || first.is_some_and(|first| first.elapsed() >= LONGEST);
		if !known.is_empty() && over {
			return Some(known);
		}
		stop.run_until_cancelled(sleep(LOOK)).await?;
	}
}

/// Waits until a ring that could not be placed may be tried again: somebody has come or gone, or some time is over. `None` if the driver is asked to stop
/// meanwhile.
pub(super) async fn tried_again(find: &Find, why: &RingError, said: &mut String, stop: &CancellationToken) -> Option<()> {
	let words = why.to_string();
	if words != *said {
		println!("{words}; it is waited for others");
		*said = words;
	}
	let (before, since) = (find(&|_| true), Instant::now());
	while find(&|_| true) == before && since.elapsed() < AGAIN {
		stop.run_until_cancelled(sleep(LOOK)).await?;
	}
	Some(())
}

/// What a ring that was found is watched for.
pub(super) struct Watched {
	/// The base folder and the run; `None` for a model in a folder.
	pub(super) run: Option<(std::path::PathBuf, Option<neuroshard_types::RunId>)>,
	/// Root of the parameters that are served.
	pub(super) root: H256,
	/// Members of the ring.
	pub(super) members: BTreeSet<PeerId>,
	/// Whether each span has a holder, if nobody can take the place of one that is lost.
	pub(super) offered: Option<Readiness>,
}

/// Waits until another ring is to be placed, and says why.
pub(super) async fn moves(found: &Found, watched: &Watched) -> String {
	let (mut newer, mut lost): (Option<Instant>, Option<Instant>) = (None, None);
	let having = |root: H256, passes: &dyn Fn(&PeerId) -> bool| found.find(root, 0)(passes).into_iter().map(|found| found.peer).collect();
	loop {
		sleep(LOOK * 4).await;
		let newest = watched.run.as_ref().and_then(|(base, run)| local::newest(base, local::Which { run: *run, ..Default::default() }));
		match newest.filter(|root| *root != watched.root) {
			Some(root) => {
				let since = *newer.get_or_insert_with(Instant::now);
				let all: Vec<PeerId> = having(root, &|_| true);
				let is_member = |peer: &PeerId| watched.members.contains(peer);
				let [there, new] = [watched.root, root].map(|root| having(root, &is_member));
				if follows(&watched.members, &all, (&there, &new), since.elapsed() >= FOLLOWED) {
					return "a newer checkpoint of the run has come, and workers have it".into();
				}
			}
			None => newer = None,
		}
		match watched.offered.as_ref().map(Readiness::is_ready) {
			Some(false) if lost.get_or_insert_with(Instant::now).elapsed() >= LOST => {
				return "nobody holds a span of the ring that was offered any more".into();
			}
			Some(false) => {}
			_ => lost = None,
		}
	}
}

/// Returns whether a ring of these members is placed anew with a newer checkpoint, which `all` say that they have, and of the members `new`; `there` of them
/// have that which is served.
///
/// As many as there are members have to, and one of these among them if any is left: of members the ring knows that they hold what they say, and of strangers
/// it does not. If they have not come in a while, which is said by `is_late`, it is enough if all members do that are left.
fn follows(members: &BTreeSet<PeerId>, all: &[PeerId], (there, new): (&[PeerId], &[PeerId]), is_late: bool) -> bool {
	match new.is_empty() {
		true => there.is_empty() && all.len() >= members.len(),
		false => all.len() >= members.len() || is_late && there.iter().all(|peer| new.contains(peer)),
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_ring_is_placed_anew_when_as_many_follow_or_after_a_while_all_members_that_are_left() {
		let [one, other, stranger, another] = [(); 4].map(|()| PeerId::random());
		let members = BTreeSet::from([one, other]);
		let both = [one, other];
		assert!(follows(&members, &both, (&both, &both), false));
		assert!(follows(&members, &[one, stranger], (&both, &[one]), false));
		// Strangers say so, however long.
		for is_late in [false, true] {
			assert!(!follows(&members, &[stranger], (&both, &[]), is_late));
			assert!(!follows(&members, &[stranger, another], (&both, &[]), is_late));
			assert!(!follows(&BTreeSet::from([one]), &[stranger], (&[one], &[]), is_late));
			assert!(!follows(&members, &[one], (&both, &[one]), is_late));
			assert!(!follows(&members, &[], (&[], &[]), is_late));
		}
		// The other one has left.
		let left: &[PeerId] = &[one];
		assert_eq!([false, true].map(|is_late| follows(&members, left, (left, left), is_late)), [false, true]);
		// All have.
		assert!(follows(&members, &[stranger, another], (&[], &[]), false));
		assert!(!follows(&members, &[stranger], (&[], &[]), true));
	}
}
