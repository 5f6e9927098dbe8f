//! A node that is far away, for tests: what is said to it takes its time, and round trips are counted.

use std::{
	net::SocketAddr,
	sync::{
		atomic::{AtomicUsize, Ordering},
		Arc,
	},
	time::Duration,
};
use tokio::{
	io::{AsyncReadExt, AsyncWriteExt},
	net::{TcpListener, TcpStream},
	time::{timeout_at, Instant},
};

/// What lies between a node and its clients.
pub struct Distance {
	/// Where clients find the node.
	address: SocketAddr,
	trips: Arc<AtomicUsize>,
}

impl Distance {
	/// Has everything that is sent to `node` be on its way for this long. What is sent meanwhile is on its way beside it.
	pub(crate) async fn to(node: SocketAddr, way: Duration) -> Self {
		let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
		let (address, trips) = (listener.local_addr().unwrap(), Arc::<AtomicUsize>::default());
		let counter = trips.clone();
		tokio::spawn(async move {
			while let Ok((client, _)) = listener.accept().await {
				let server = TcpStream::connect(node).await.unwrap();
				tokio::spawn(relay(client, server, way, counter.clone()));
			}
		});
		Self { address, trips }
	}

	/// Where clients find the node.
	pub fn url(&self) -> String {
		format!("ws://{}", self.address)
	}

	/// Times so far that something was sent after all that was sent before had arrived: round trips, for who waits for answers.
	pub fn trips(&self) -> usize {
		self.trips.load(Ordering::Relaxed)
	}
}

async fn relay(client: TcpStream, server: TcpStream, way: Duration, trips: Arc<AtomicUsize>) {
	let ((mut asked, mut told), (mut answered, mut node)) = (client.into_split(), server.into_split());
	tokio::spawn(async move { tokio::io::copy(&mut answered, &mut told).await });
	let mut buffer = vec![0; 1 << 16];
	while let Ok(count @ 1..) = asked.read(&mut buffer).await {
		trips.fetch_add(1, Ordering::Relaxed);
		let (mut held, arrival) = (buffer[..count].to_vec(), Instant::now() + way);
		while let Ok(Ok(count @ 1..)) = timeout_at(arrival, asked.read(&mut buffer)).await {
			held.extend(&buffer[..count]);
		}
		if node.write_all(&held).await.is_err() {
			return;
		}
	}
}
