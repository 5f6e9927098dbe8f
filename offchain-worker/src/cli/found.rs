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
use neuroshard_network::{PeerAddress, Reach};
use neuroshard_ring::{
	find::holders,
	start::{Find, RingError},
};
use neuroshard_types::H256;
use std::{
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
/// Longest wait for as many to have a newer checkpoint as the ring has members.
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
		Ok(Some(Self { joined, reach, bound: OnceLock::new() }))
	}

	/// Says who has these parameters.
	pub(super) fn find(&self, parameters: H256) -> Find {
		let known = self.joined.known.clone();
		Arc::new(move || {
			let (directory, now) = known.look();
			holders(&directory, now, parameters)
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
		let now = find();
		if now.is_empty() && first.is_none() {
			println!("waiting for workers with this model: nobody announces it yet (`hold --announce` and `hold --provider` do)");
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
	let (before, since) = (find(), Instant::now());
	while find() == before && since.elapsed() < AGAIN {
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
	pub(super) members: usize,
	/// Whether each span has a holder, if nobody can take the place of one that is lost.
	pub(super) offered: Option<Readiness>,
}

/// Waits until another ring is to be placed, and says why.
pub(super) async fn moves(found: &Found, watched: &Watched) -> String {
	let (mut newer, mut lost): (Option<Instant>, Option<Instant>) = (None, None);
	loop {
		sleep(LOOK * 4).await;
		let newest = watched.run.as_ref().and_then(|(base, run)| local::newest(base, local::Which { run: *run, ..Default::default() }));
		match newest.filter(|root| *root != watched.root) {
			Some(root) => {
				let since = *newer.get_or_insert_with(Instant::now);
				let follow = found.find(root)().len();
				if follow >= watched.members || follow > 0 && since.elapsed() >= FOLLOWED {
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
