//! Who passes messages on to whom.

use super::{Event, Members, LOOKED_AT_MS};
use neuroshard_network::{MESH, MESH_HIGH};
use neuroshard_types::Moment;
use rand::Rng;

/// Share of the messages from one member to another that are lost.
pub const LOSS: f64 = 0.02;
/// Draws in search of a member with room in its mesh.
const DRAWS: usize = 64;

impl Members {
	/// Meshes a member with as many others as there should be, as far as they have room.
	pub(super) fn mesh_up(&mut self, who: usize) {
		for _ in 0..DRAWS {
			if self.machines[who].mesh.len() >= MESH {
				return;
			}
			let other = self.dice.gen_range(0..self.machines.len());
			if other != who && self.machines[other].up && self.machines[other].mesh.len() < MESH_HIGH {
				self.machines[who].mesh.insert(other);
				self.machines[other].mesh.insert(who);
			}
		}
	}

	/// Takes a member out of the meshes of all others.
	pub(super) fn unmesh(&mut self, who: usize) {
		for other in std::mem::take(&mut self.machines[who].mesh) {
			self.machines[other].mesh.remove(&who);
		}
	}

	/// Sends a message on, to all but the one that it came from. Whoever has it already receives it at once, since nothing else follows from that.
	pub(super) fn pass_on(&mut self, from: usize, except: Option<usize>, message: usize) {
		let others: Vec<usize> = self.machines[from].mesh.iter().copied().filter(|other| Some(*other) != except).collect();
		self.machines[from].traffic.sent += self.messages[message].bytes * others.len() as u64;
		for to in others {
			if self.dice.gen_bool(LOSS) {
				continue;
			}
			let under_way = &self.messages[message];
			if under_way.seen.get(to) == Some(&true) {
				self.machines[to].traffic.received += under_way.bytes;
				continue;
			}
			let takes = self.apart_ms(from, to) as Moment + LOOKED_AT_MS;
			self.at(self.now + takes, Event::Arrives { to, from, message });
		}
	}
}
