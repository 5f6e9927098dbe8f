//! A holder's side of a stream: it answers one driver, request by request.

use super::{
	accounts::member::{Seat, Tasks},
	holder::Holder,
	lend::Sources,
	loaded::{Loaded, Place},
	message::{frame, receive, send, FrameError, Hold, Profile, Reply, Request},
};
use crate::placement::{Load, Model};
use neuroshard_inference::Source;
use neuroshard_network::PeerId;
use tokio::io::{AsyncRead, AsyncWrite};

/// Answers a driver until the stream ends. What it has this worker hold is in `loaded` meanwhile, and if it offers that, among the tasks of that driver's
/// identity.
///
/// A request is read when the one before is answered: a driver that asks for more waits.
pub(super) async fn answer(
	stream: impl AsyncRead + AsyncWrite + Send,
	sources: Sources,
	profile: Profile,
	tasks: Option<(Tasks, PeerId)>,
	loaded: Loaded,
) -> Result<(), FrameError> {
	let (mut from, mut to) = tokio::io::split(Box::pin(stream));
	let (mut held, mut seat): (Option<(Holder, Place)>, Option<Seat>) = (None, None);
	loop {
		let (request, rows) = match receive::<Request>(&mut from).await {
			Err(FrameError::Io(error)) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(()),
			other => other?,
		};
		let hold = if let Request::Hold(hold) = &request { Some(hold.clone()) } else { None };
		if hold.is_some() {
			// The one before is let go first: both together may not fit.
			drop((held.take(), seat.take()));
		}
		// It takes time, and other streams go on meanwhile. On this thread: waking another one takes as long as a small span.
		let known = sources.borrow().clone();
		let bytes = tokio::task::block_in_place(|| respond(&mut held, &known, (&profile, &loaded), request, &rows));
		if let (Some(hold), Some((tasks, peer)), true) = (hold, &tasks, held.is_some()) {
			seat = tasks.take(*peer, &hold);
		}
		send(&mut to, &bytes).await?;
	}
}

/// Bytes of the parameters of what is to be held; more than there are for layers that the model does not have.
fn weights(source: &Source, hold: &Hold) -> u64 {
	// For one text with one token, so that the KV cache hardly counts.
	let load = Load { class: hold.class, context: 1, sequences: 1, batch: 1 };
	let Ok(model) = Model::of(&source.config, load) else { return u64::MAX };
	let stage = hold.stage();
	let layers = model.layers.get(stage.layers).map(|layers| layers.iter().fold(0u64, |sum, layer| sum.saturating_add(layer.memory)));
	let ends = [(stage.embedding, model.embedding.memory), (stage.head, model.head.memory)];
	let ends = ends.into_iter().filter(|(held, _)| *held).fold(0u64, |sum, (_, bytes)| sum.saturating_add(bytes));
	let shared = if stage.embedding && stage.head { model.shared } else { 0 };
	layers.map_or(u64::MAX, |layers| layers.saturating_add(ends).saturating_sub(shared))
}

/// Returns the encoded reply to a request.
fn respond(
	held: &mut Option<(Holder, Place)>,
	sources: &[Source],
	(profile, loaded): (&Profile, &Loaded),
	request: Request,
	rows: &[f32],
) -> Vec<u8> {
	let number = match &request {
		Request::Pass(pass) => Some(pass.number),
		Request::Again(number) => Some(*number),
		Request::Profile | Request::Hold(_) | Request::Unfit(_) => None,
	};
	let refused = |words: String| frame(&Reply::Refused { number, words }, &[]);
	match request {
		Request::Profile => {
			let newest = sources.first().map_or(profile.parameters, |source| source.parameters);
			let memory = profile.memory.saturating_sub(loaded.used());
			frame(&Reply::Profile(Profile { parameters: newest, memory, ..profile.clone() }), &[])
		}
		Request::Hold(hold) => {
			let Some(source) = sources.iter().find(|source| source.parameters == hold.parameters) else {
				let known: Vec<String> = sources.iter().map(|source| format!("{:?}", source.parameters)).collect();
				return refused(format!("the parameters here are {}, not {:?}", known.join(" and "), hold.parameters));
			};
			let weights = weights(source, &hold);
			// Before anything is loaded: others load at the same time.
			let Some(place) = loaded.reserve(hold.held(source.config.layers), weights, profile.memory) else {
				let free = profile.memory.saturating_sub(loaded.used());
				return refused(format!("these layers have {weights} bytes, and {free} of {} that are lent here are free", profile.memory));
			};
			match source.clone().in_class(hold.class).load(&hold.stage()) {
				Ok(inference) => {
					let pages = u64::from(hold.pages).saturating_mul(u64::try_from(inference.page_bytes()).unwrap_or(u64::MAX));
					let memory = place.hold(pages, profile.memory);
					*held = Some((Holder::new(inference, &hold, memory), place));
					frame(&Reply::Holding, &[])
				}
				Err(words) => refused(words),
			}
		}
		Request::Pass(pass) => match held.as_mut().map(|(holder, _)| holder.pass(&pass, rows)) {
			Some(Ok((done, out))) => frame(&Reply::Done(done.clone()), if done.told { out } else { &[] }),
			Some(Err(error)) => refused(error.to_string()),
			None => refused("nothing is held here: say first what to hold".to_owned()),
		},
		Request::Again(number) => match held.as_mut().and_then(|(holder, _)| holder.again(number)) {
			Some((done, out)) => frame(&Reply::Done(done.clone()), out),
			None => refused("that pass was not the last one here".to_owned()),
		},
		Request::Unfit(unfit) => {
			tracing::error!("a driver does not use this worker, since its account cannot be on the offer: {unfit}");
			frame(&Reply::Noted, &[])
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::{message::receive_bare, tests::source};
	use tokio::io::{duplex, DuplexStream};

	#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
	async fn what_one_driver_holds_is_not_lent_to_another_until_its_stream_ends() {
		let source = source();
		let hold = Hold {
			parameters: source.parameters,
			class: source.class,
			embedding: false,
			first: 0,
			layers: 1,
			head: false,
			pages: 1,
			terms: None,
		};
		let (bytes, loaded) = (weights(&source, &hold), Loaded::default());
		let profile = Profile { parameters: source.parameters, memory: 2 * bytes - 1, bandwidth: 1, flops: 1, account: None };
		let sources = tokio::sync::watch::channel(vec![source]).1;
		let begin = || {
			let (ours, theirs) = duplex(1 << 20);
			(ours, tokio::spawn(answer(theirs, sources.clone(), profile.clone(), None, loaded.clone())))
		};
		async fn ask(stream: &mut DuplexStream, request: Request) -> Reply {
			send(stream, &frame(&request, &[])).await.unwrap();
			receive_bare(stream).await.unwrap()
		}
		let ((mut one, answering), (mut other, _other)) = (begin(), begin());
		assert_eq!(ask(&mut one, Request::Hold(hold.clone())).await, Reply::Holding);
		assert!(matches!(ask(&mut other, Request::Hold(hold.clone())).await, Reply::Refused { .. }));
		let Reply::Profile(told) = ask(&mut other, Request::Profile).await else { panic!("no profile") };
		assert!(told.memory < bytes);
		// The same stream holds something else in its place.
		assert_eq!(ask(&mut one, Request::Hold(hold.clone())).await, Reply::Holding);
		drop(one);
		answering.await.unwrap().unwrap();
		assert_eq!(ask(&mut other, Request::Hold(hold)).await, Reply::Holding);
	}
}
