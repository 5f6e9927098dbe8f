//! A holder's side of a stream: it answers one driver, request by request.

use super::{
	holder::Holder,
	message::{frame, receive, send, FrameError, Profile, Reply, Request},
};
use crate::infer::Source;
use tokio::io::{AsyncRead, AsyncWrite};

/// Answers a driver until the stream ends.
///
/// A request is read when the one before is answered: a driver that asks for more waits.
pub(super) async fn answer(stream: impl AsyncRead + AsyncWrite + Send, source: Source, profile: Profile) -> Result<(), FrameError> {
	let (mut from, mut to) = tokio::io::split(Box::pin(stream));
	let mut holder: Option<Holder> = None;
	loop {
		let (request, rows) = match receive::<Request>(&mut from).await {
			Err(FrameError::Io(error)) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(()),
			other => other?,
		};
		// It takes time, and other streams go on meanwhile. On this thread: waking another one takes as long as a small span.
		let bytes = tokio::task::block_in_place(|| respond(&mut holder, &source, profile, request, &rows));
		send(&mut to, &bytes).await?;
	}
}

/// What a request is answered with.
fn respond(holder: &mut Option<Holder>, source: &Source, profile: Profile, request: Request, rows: &[f32]) -> Vec<u8> {
	let refused = |words: String| frame(&Reply::Refused(words), &[]);
	match request {
		Request::Profile => frame(&Reply::Profile(profile), &[]),
		Request::Hold(hold) if hold.parameters != source.parameters => {
			refused(format!("the parameters here are {:?}, not {:?}", source.parameters, hold.parameters))
		}
		Request::Hold(hold) => {
			// The one before is let go first: both together may not fit.
			*holder = None;
			match source.load(&hold.stage()) {
				Ok(inference) => {
					*holder = Some(Holder::new(inference, &hold));
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
	}
}
