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
	let (mut holder, mut seat, mut place): (Option<Holder>, Option<Seat>, Option<Place>) = (None, None, None);
	loop {
		let (request, rows) = match receive::<Request>(&mut from).await {
			Err(FrameError::Io(error)) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(()),
			other => other?,
		};
		let hold = if let Request::Hold(hold) = &request { Some(hold.clone()) } else { None };
		// It takes time, and other streams go on meanwhile. On this thread: waking another one takes as long as a small span.
		let known = sources.borrow().clone();
		let bytes = tokio::task::block_in_place(|| respond(&mut holder, &known, &profile, request, &rows));
		if let Some(hold) = hold {
			// The one before is not held any more.
			drop((seat.take(), place.take()));
			let source = known.iter().find(|source| source.parameters == hold.parameters).filter(|_| holder.is_some());
			place = source.map(|source| loaded.take(hold.held(source.config.layers), weights(source, &hold)));
			let held = tasks.as_ref().filter(|_| holder.is_some());
			seat = held.and_then(|(tasks, peer)| tasks.take(*peer, &hold));
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
fn respond(holder: &mut Option<Holder>, sources: &[Source], profile: &Profile, request: Request, rows: &[f32]) -> Vec<u8> {
	let number = match &request {
		Request::Pass(pass) => Some(pass.number),
		Request::Again(number) => Some(*number),
		Request::Profile | Request::Hold(_) | Request::Unfit(_) => None,
	};
	let refused = |words: String| frame(&Reply::Refused { number, words }, &[]);
	match request {
		Request::Profile => {
			let newest = sources.first().map_or(profile.parameters, |source| source.parameters);
			frame(&Reply::Profile(Profile { parameters: newest, ..profile.clone() }), &[])
		}
		Request::Hold(hold) => {
			// The one before is let go first: both together may not fit.
			*holder = None;
			let Some(source) = sources.iter().find(|source| source.parameters == hold.parameters) else {
				let known: Vec<String> = sources.iter().map(|source| format!("{:?}", source.parameters)).collect();
				return refused(format!("the parameters here are {}, not {:?}", known.join(" and "), hold.parameters));
			};
			let weights = weights(source, &hold);
			if weights > profile.memory {
				return refused(format!("these layers have {weights} bytes, and {} are lent here", profile.memory));
			}
			match source.clone().in_class(hold.class).load(&hold.stage()) {
				Ok(inference) => {
					*holder = Some(Holder::new(inference, &hold, profile.memory.saturating_sub(weights)));
					frame(&Reply::Holding, &[])
				}
				Err(words) => refused(words),
			}
		}
		Request::Pass(pass) => match holder.as_mut().map(|holder| holder.pass(&pass, rows)) {
			Some(Ok((done, out))) => frame(&Reply::Done(done.clone()), if done.told { out } else { &[] }),
			Some(Err(error)) => refused(error.to_string()),
			None => refused("nothing is held here: say first what to hold".to_owned()),
		},
		Request::Again(number) => match holder.as_mut().and_then(|holder| holder.again(number)) {
			Some((done, out)) => frame(&Reply::Done(done.clone()), out),
			None => refused("that pass was not the last one here".to_owned()),
		},
		Request::Unfit(unfit) => {
			tracing::error!("a driver does not use this worker, since its account cannot be on the offer: {unfit}");
			frame(&Reply::Noted, &[])
		}
	}
}
