//! A holder's side of a stream: it answers one driver, request by request.

use super::{
	accounts::member::{Seat, Tasks},
	holder::Holder,
	message::{frame, receive, send, FrameError, Hold, Profile, Reply, Request},
};
use crate::infer::Source;
use neuroshard_graph::ParamLayout;
use neuroshard_network::PeerId;
use tokio::io::{AsyncRead, AsyncWrite};

/// Answers a driver until the stream ends. What it has this worker hold, and offers, is among the tasks of that driver's identity meanwhile.
///
/// A request is read when the one before is answered: a driver that asks for more waits.
pub(super) async fn answer(
	stream: impl AsyncRead + AsyncWrite + Send,
	source: Source,
	profile: Profile,
	tasks: Option<(Tasks, PeerId)>,
) -> Result<(), FrameError> {
	let (mut from, mut to) = tokio::io::split(Box::pin(stream));
	let (mut holder, mut seat): (Option<Holder>, Option<Seat>) = (None, None);
	loop {
		let (request, rows) = match receive::<Request>(&mut from).await {
			Err(FrameError::Io(error)) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(()),
			other => other?,
		};
		let hold = if let Request::Hold(hold) = &request { Some(hold.clone()) } else { None };
		// It takes time, and other streams go on meanwhile. On this thread: waking another one takes as long as a small span.
		let bytes = tokio::task::block_in_place(|| respond(&mut holder, &source, &profile, request, &rows));
		if let Some(hold) = hold {
			// The one before is not held any more.
			drop(seat.take());
			let held = tasks.as_ref().filter(|_| holder.is_some());
			seat = held.and_then(|(tasks, peer)| tasks.take(*peer, &hold));
		}
		send(&mut to, &bytes).await?;
	}
}

/// Bytes of the parameters of what is to be held; more than there are for layers that the model does not have.
fn weights(source: &Source, hold: &Hold) -> u64 {
	let Ok(layout) = ParamLayout::new(&source.config) else { return u64::MAX };
	let stage = hold.stage();
	// Beside those of layers there are the embedding, the last norm, and the head of a model that is not tied.
	let ends = if source.config.tied { 2 } else { 3 };
	let of_layers = layout.tensors().len().saturating_sub(ends);
	let each = of_layers / usize::try_from(source.config.layers).unwrap_or(usize::MAX).max(1);
	let numbers =
		|range: std::ops::Range<usize>| layout.tensors().get(range).map(|some| some.iter().map(|tensor| tensor.range().len()).sum());
	let at = |layer: usize| layer.saturating_mul(each).saturating_add(1);
	let layers: Option<usize> = numbers(at(stage.layers.start)..at(stage.layers.end));
	let ends = if stage.embedding || stage.head { numbers(0..1) } else { Some(0) };
	let all = layers.zip(ends).map_or(usize::MAX, |(layers, ends)| layers.saturating_add(ends));
	u64::try_from(all.saturating_mul(size_of::<f32>())).unwrap_or(u64::MAX)
}

/// What a request is answered with.
fn respond(holder: &mut Option<Holder>, source: &Source, profile: &Profile, request: Request, rows: &[f32]) -> Vec<u8> {
	let number = match &request {
		Request::Pass(pass) => Some(pass.number),
		Request::Again(number) => Some(*number),
		Request::Profile | Request::Hold(_) | Request::Unfit(_) => None,
	};
	let refused = |words: String| frame(&Reply::Refused { number, words }, &[]);
	match request {
		Request::Profile => frame(&Reply::Profile(profile.clone()), &[]),
		Request::Hold(hold) if hold.parameters != source.parameters => {
			refused(format!("the parameters here are {:?}, not {:?}", source.parameters, hold.parameters))
		}
		Request::Hold(hold) => {
			// The one before is let go first: both together may not fit.
			*holder = None;
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
