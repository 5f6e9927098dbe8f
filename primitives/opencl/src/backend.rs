//! Operators on a device: each is one launch of a kernel, or a few. Commands are executed in the order of the calls.

use crate::{constants::definitions, found, handle::Handle, products::Tiles, Found, OpenClError};
use neuroshard_compute::exec::{At, Backend, CodeError, DeviceError, Exec, RmsInput};
use neuroshard_graph::{
	config::Code,
	graph::Product,
	layout::ParamLayout,
	merkle::{merkle_root, Hash},
};
use neuroshard_kernels::{
	scalar::NO_TARGET,
	schedule::attention_scale,
	shape::{tile_count, AdamW, AttentionDims, MatDims, Muon, RopeDims, Start, Tiling, FAN_IN, SEGMENT},
};
use opencl3::{
	command_queue::CommandQueue,
	context::Context,
	error_codes::{ClError, CL_INVALID_BUFFER_SIZE, CL_MEM_OBJECT_ALLOCATION_FAILURE},
	event::{Event, CL_COMPLETE},
	kernel::Kernel,
	memory::{Buffer, ClMem, CL_MEM_COPY_HOST_PTR, CL_MEM_READ_WRITE},
	program::Program,
	types::{cl_mem, cl_uint, CL_BLOCKING},
};
use std::{
	borrow::Cow,
	collections::HashMap,
	ffi::c_void,
	ptr,
	sync::{
		atomic::{AtomicBool, AtomicU64, Ordering},
		Arc, Mutex, MutexGuard, PoisonError,
	},
};

const SOURCE: &str = concat!(include_str!("kernels.cl"), include_str!("rounds.cl"));
/// Products are as the text of the kernels says: nothing is contracted or approximated, and nothing is assumed to be finite.
const OPTIONS: &str = "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt";
/// Work-items of a group where each has a lane of a sum, and where they share a row of attention.
const LANES: usize = 16;
pub(crate) const ROW: usize = 64;
/// Outputs of a product that a group has on a side, and work-items.
pub(crate) const SIDE: usize = 64;
pub(crate) const ITEMS: usize = 16;
/// Numbers of attention that are kept at a time, in each of two buffers; more if a key head has more.
pub(crate) const SCRATCH: usize = 16 << 20;
/// Held while a processor that speaks OpenCL executes a command. pocl (3.1) counts who uses a loaded kernel without telling sizes of grids apart, so that
/// queues that run one at a time on several sizes can end the whole process (`pocl_release_dlhandle_cache`: `ref_count > 0`).
static ALONE: Mutex<()> = Mutex::new(());

/// Memory of a device that plans are executed in.
pub struct Arena {
	buffer: Held<f32>,
	len: usize,
}

/// Memory that a device counts as held until it is given back.
pub(crate) struct Held<T> {
	pub(crate) buffer: Handle<Buffer<T>>,
	_counted: Counted,
}

struct Counted {
	bytes: u64,
	of: Arc<AtomicU64>,
}

impl Drop for Counted {
	fn drop(&mut self) {
		self.of.fetch_sub(self.bytes, Ordering::Relaxed);
	}
}

/// A table on a device; none if that failed.
pub struct Table(pub(crate) Option<Handle<Buffer<f32>>>);

/// A buffer, and how much it holds.
pub(crate) type Room = Option<(Handle<Buffer<f32>>, usize)>;

/// What is used by one operator at a time.
struct Used {
	kernels: HashMap<&'static str, Handle<Kernel>>,
	/// Commands that nobody has waited for, and what they are to do.
	commands: Vec<(&'static str, Handle<Event>)>,
	/// The first command that failed. After it there are none.
	failed: Option<DeviceError>,
}

/// A device that executes operators.
pub struct OpenCl {
	host: Arc<Exec>,
	name: String,
	largest_buffer: u64,
	memory: u64,
	/// Bytes that are held now.
	held: Arc<AtomicU64>,
	/// Whether a command has failed.
	is_lost: AtomicBool,
	/// Whether only one command of this process is executed at a time.
	is_alone: bool,
	used: Mutex<Used>,
	/// Probabilities, and gradients of scores; levels of trees. Held by the operator that keeps something there.
	scratch: Mutex<[Room; 2]>,
	/// Tiles of products; none where they are not measured.
	pub(crate) tiles: Option<Tiles>,
	queue: Handle<CommandQueue>,
	program: Handle<Program>,
	context: Handle<Context>,
}

/// An argument of a kernel.
#[derive(Clone, Copy)]
pub(crate) enum Argument {
	Memory(cl_mem),
	Offset(u64),
	Number(u32),
	Float(f32),
}

use Argument::{Float, Memory, Number, Offset};

/// A size.
///
/// # Panics
/// Beyond what a kernel counts to: no run has such.
#[expect(clippy::expect_used, reason = "plans have bounds, which are checked before they are executed")]
pub(crate) fn number(value: usize) -> Argument {
	Number(u32::try_from(value).expect("sizes of operators are below 2^32"))
}

pub(crate) fn existing(start: Start) -> Argument {
	Number(u32::from(start == Start::Existing))
}

impl OpenCl {
	/// The device with this number, counted from 0, with `host` for what is computed beside it.
	///
	/// # Errors
	/// [`OpenClError`].
	pub fn new(number: usize, host: Arc<Exec>) -> Result<Self, OpenClError> {
		Self::on(&found(number)?, host)
	}

	/// That device.
	///
	/// # Errors
	/// [`OpenClError::Inexact`], [`OpenClError::Driver`].
	pub fn on(found: &Found, host: Arc<Exec>) -> Result<Self, OpenClError> {
		Self::of_text(found, host, &Self::text(!found.is_cpu))
	}

	/// Text of the kernels, with `all` shapes of tiles or the usual one.
	pub(crate) fn text(all: bool) -> String {
		let tiles = if all { "#define ALL_TILES\n" } else { "" };
		tiles.to_owned() + &definitions() + SOURCE
	}

	/// The device with kernels of another text.
	pub(crate) fn of_text(found: &Found, host: Arc<Exec>, text: &str) -> Result<Self, OpenClError> {
		found.refuse_inexact()?;
		let name = found.name.clone();
		let failed = |what| move |error: ClError| OpenClError::Driver { name: found.name.clone(), what, reason: error.to_string() };
		let context = Context::from_device(&found.device).map_err(failed("make a context"))?;
		#[allow(deprecated, reason = "the call that devices of every version have")]
		let queue = CommandQueue::create_default(&context, 0).map_err(failed("make a queue"))?;
		let program = Program::create_and_build_from_source(&context, text, OPTIONS);
		let program = program.map_err(|reason| OpenClError::Driver { name: name.clone(), what: "compile the kernels", reason })?;
		let used = Used { kernels: HashMap::new(), commands: Vec::new(), failed: None };
		Ok(Self {
			host,
			name,
			largest_buffer: found.largest_buffer,
			memory: found.memory,
			held: Arc::default(),
			is_lost: AtomicBool::new(false),
			is_alone: found.is_cpu,
			used: Mutex::new(used),
			scratch: Mutex::default(),
			// A processor that speaks OpenCL takes too long to compile and measure them for what it would gain.
			tiles: (!found.is_cpu).then(Tiles::default),
			queue: Handle::new(queue),
			program: Handle::new(program),
			context: Handle::new(context),
		})
	}

	/// As the driver names it.
	pub fn name(&self) -> &str {
		&self.name
	}

	/// Whether the device has room for an arena of so many bytes, and beside it for attention of which a key head has so many `scores` in a sequence, and for
	/// a sixteenth of all for the rest.
	pub fn has_room(&self, bytes: u64, scores: u64) -> bool {
		let beyond = scores.saturating_sub(SCRATCH as u64).saturating_mul(2 * size_of::<f32>() as u64);
		bytes <= self.largest_buffer && bytes.saturating_add(beyond) <= self.room()
	}

	/// Bytes that can be held beside what is held now, attention and a sixteenth for the rest.
	pub(crate) fn room(&self) -> u64 {
		self.most().saturating_sub(self.held.load(Ordering::Relaxed))
	}

	/// Bytes that can be held in all.
	fn most(&self) -> u64 {
		self.memory().saturating_sub((SCRATCH * 2 * size_of::<f32>()) as u64)
	}

	/// Takes memory for `len` values if there is room, without the loss of the device if there is not.
	///
	/// # Errors
	/// [`DeviceError`].
	pub(crate) fn hold<T>(&self, len: usize) -> Result<Held<T>, DeviceError> {
		const WHAT: &str = "allocate memory";
		let bytes = len.max(1).saturating_mul(size_of::<T>()) as u64;
		if bytes > self.largest_buffer {
			return Err(DeviceError { what: WHAT, code: CL_INVALID_BUFFER_SIZE });
		}
		let fits = |held: u64| held.checked_add(bytes).filter(|held| *held <= self.most());
		let full = |_| DeviceError { what: WHAT, code: CL_MEM_OBJECT_ALLOCATION_FAILURE };
		self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).map_err(full)?;
		let counted = Counted { bytes, of: self.held.clone() };
		// SAFETY: the driver allocates; no pointer of ours is given.
		let buffer = unsafe { Buffer::create(&self.context, CL_MEM_READ_WRITE, len.max(1), ptr::null_mut()) };
		let buffer = buffer.map_err(|error: ClError| DeviceError { what: WHAT, code: error.0 })?;
		Ok(Held { buffer: Handle::new(buffer), _counted: counted })
	}

	/// Bytes that a buffer can have now.
	pub(crate) fn room_for_buffer(&self) -> u64 {
		self.room().min(self.largest_buffer)
	}

	/// Gives up, for want of memory in the middle of an operator.
	pub(crate) fn give_up(&self) {
		self.attempt::<()>("allocate memory", |_| Err(ClError(CL_MEM_OBJECT_ALLOCATION_FAILURE)));
	}

	/// Writes `values` to a buffer from value `first` on.
	pub(crate) fn write_to<T>(&self, buffer: &mut Buffer<T>, first: usize, values: &[T]) {
		if values.is_empty() {
			return;
		}
		self.attempt("write to its memory", |used| {
			// SAFETY: the call returns when all has been copied; what is beyond the memory is refused by the driver.
			let event = unsafe { self.queue.enqueue_write_buffer(buffer, CL_BLOCKING, first * size_of::<T>(), values, &[])? };
			used.commands.push(("write to its memory", Handle::new(event)));
			Ok(())
		});
	}

	/// Whether a command has failed. Waits for nothing.
	pub(crate) fn has_failed(&self) -> bool {
		self.is_lost.load(Ordering::Relaxed)
	}

	/// Its context, to tell it from others.
	pub(crate) fn identity(&self) -> usize {
		self.context.get() as usize
	}

	/// Bytes of its memory that models may take.
	pub fn memory(&self) -> u64 {
		self.memory - self.memory / 16
	}

	/// What computes beside it.
	pub(crate) fn host(&self) -> &Arc<Exec> {
		&self.host
	}

	/// Memory for `len` elements, all zero.
	///
	/// # Errors
	/// [`OpenClError::Memory`], [`OpenClError::Driver`].
	pub fn arena(&self, len: usize) -> Result<Arena, OpenClError> {
		let needed = len.saturating_mul(size_of::<f32>()) as u64;
		let most = self.room_for_buffer();
		if needed > most {
			return Err(OpenClError::Memory { name: self.name.clone(), most, needed });
		}
		let failed =
			|error: DeviceError| OpenClError::Driver { name: self.name.clone(), what: "allocate memory", reason: error.to_string() };
		self.zeros(len).map_err(failed)
	}

	/// The same.
	///
	/// # Errors
	/// [`DeviceError`].
	pub(crate) fn zeros(&self, len: usize) -> Result<Arena, DeviceError> {
		let mut arena = Arena { buffer: self.hold(len)?, len };
		self.fill(&mut arena, 0..len, 0.0);
		self.settled()?;
		Ok(arena)
	}

	fn used(&self) -> MutexGuard<'_, Used> {
		self.used.lock().unwrap_or_else(PoisonError::into_inner)
	}

	/// Runs `command` unless one has failed, and notes whether this one does.
	fn attempt<T>(&self, what: &'static str, command: impl FnOnce(&mut Used) -> Result<T, ClError>) -> Option<T> {
		let mut used = self.used();
		if used.failed.is_some() {
			return None;
		}
		let alone = self.is_alone.then(|| ALONE.lock().unwrap_or_else(PoisonError::into_inner));
		let mut result = command(&mut used);
		if alone.is_some() {
			result = result.and_then(|done| self.queue.finish().map(|()| done));
		}
		drop(alone);
		result.map_err(|error| self.lose(&mut used, DeviceError { what, code: error.0 })).ok()
	}

	/// From now on nothing is computed.
	fn lose(&self, used: &mut Used, error: DeviceError) {
		used.failed = Some(error);
		self.is_lost.store(true, Ordering::Relaxed);
	}

	/// Launches a kernel on `global` work-items, in groups of `local`.
	pub(crate) fn launch<const N: usize>(&self, name: &'static str, global: [usize; N], local: [usize; N], arguments: &[Argument]) {
		if global.contains(&0) {
			return;
		}
		self.attempt(name, |used| {
			if !used.kernels.contains_key(name) {
				used.kernels.insert(name, Handle::new(Kernel::create(&self.program, name)?));
			}
			let Some(kernel) = used.kernels.get(name) else { return Err(ClError(0)) };
			for (index, argument) in (0..).zip(arguments) {
				// SAFETY: arguments have the types of the kernel's, in its order.
				unsafe {
					match argument {
						Memory(memory) => kernel.set_arg(index, memory)?,
						Offset(value) => kernel.set_arg(index, value)?,
						Number(value) => kernel.set_arg(index, value)?,
						Float(value) => kernel.set_arg(index, value)?,
					}
				}
			}
			// SAFETY: as many sizes as dimensions; operands lie within the arena, as plans are checked to have them.
			let event = unsafe {
				self.queue.enqueue_nd_range_kernel(kernel.get(), N as cl_uint, ptr::null(), global.as_ptr(), local.as_ptr(), &[])?
			};
			used.commands.push((name, Handle::new(event)));
			Ok(())
		});
	}

	/// A kernel on elements or columns, one a work-item.
	pub(crate) fn each(&self, name: &'static str, items: usize, arguments: &[Argument]) {
		self.each_in_rows(name, [items, 1], arguments);
	}

	/// A kernel on elements in rows: so many, and so many rows.
	fn each_in_rows(&self, name: &'static str, [items, rows]: [usize; 2], arguments: &[Argument]) {
		let arguments = [arguments, &[Offset(items as u64)]].concat();
		self.launch(name, [items.next_multiple_of(ROW), rows], [ROW, 1], &arguments);
	}

	/// A kernel on rows or tiles, with 16 work-items for each.
	fn by_lanes(&self, name: &'static str, rows: usize, arguments: &[Argument]) {
		self.launch(name, [rows.saturating_mul(LANES)], [LANES], arguments);
	}

	/// A copy of `values` on the device; `None` also if there are none.
	pub(crate) fn upload<T: Copy>(&self, values: &[T]) -> Option<Handle<Buffer<T>>> {
		let from = values.as_ptr().cast::<c_void>().cast_mut();
		if values.is_empty() {
			return None;
		}
		// SAFETY: the driver copies from the slice before it returns, and does not write to it.
		let made = |_: &mut Used| unsafe { Buffer::create(&self.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, values.len(), from) };
		self.attempt("take a table", made).map(Handle::new)
	}

	/// Reads `values` from element `first` of a buffer on, when all before is done.
	pub(crate) fn download<T>(&self, what: &'static str, buffer: &Buffer<T>, first: usize, values: &mut [T]) {
		if values.is_empty() {
			return;
		}
		self.attempt(what, |used| {
			// SAFETY: the call returns when all has been read.
			let event = unsafe { self.queue.enqueue_read_buffer(buffer, CL_BLOCKING, first * size_of::<T>(), values, &[])? };
			used.commands.push((what, Handle::new(event)));
			Ok(())
		});
	}

	/// What an operator keeps beside the arena, which it has for itself as long as it holds this.
	pub(crate) fn scratch(&self) -> MutexGuard<'_, [Room; 2]> {
		self.scratch.lock().unwrap_or_else(PoisonError::into_inner)
	}

	/// Room for `len` numbers in a part of that.
	pub(crate) fn scratch_room(&self, room: &mut Room, len: usize) -> Option<cl_mem> {
		if room.as_ref().is_none_or(|(_, found)| *found < len) {
			*room = None;
			// SAFETY: the driver allocates; no pointer of ours is given.
			let made = |_: &mut Used| unsafe { Buffer::create(&self.context, CL_MEM_READ_WRITE, len.max(1), ptr::null_mut()) };
			*room = Some((self.attempt("allocate memory", made).map(Handle::new)?, len));
		}
		room.as_ref().map(|(buffer, _)| buffer.get())
	}
}

impl Backend for OpenCl {
	type Arena = Arena;
	type Table = Table;

	fn host(&self) -> &Exec {
		&self.host
	}

	fn len(&self, arena: &Arena) -> usize {
		arena.len
	}

	fn table(&self, values: Vec<f32>) -> Self::Table {
		Table(self.upload(&values))
	}

	fn settled(&self) -> Result<(), DeviceError> {
		self.attempt("finish its commands", |_| self.queue.finish());
		let mut used = self.used();
		// A driver tells of a command that ended abnormally by its event alone.
		for (what, event) in std::mem::take(&mut used.commands) {
			let status = event.command_execution_status().map_or_else(|error| error.0, |status| status.0);
			if status != CL_COMPLETE && used.failed.is_none() {
				self.lose(&mut used, DeviceError { what, code: status });
			}
		}
		used.failed.map_or(Ok(()), Err)
	}

	fn view<'a>(&self, arena: &'a Arena, at: At) -> Cow<'a, [f32]> {
		assert!(at.end <= arena.len, "operand");
		let mut values = vec![f32::NAN; at.len()];
		self.download("read its memory", &arena.buffer.buffer, at.start, &mut values);
		Cow::Owned(values)
	}

	fn write(&self, arena: &mut Arena, first: usize, values: &[f32]) {
		assert!(values.len() <= arena.len && first <= arena.len - values.len(), "operand");
		self.write_to(&mut arena.buffer.buffer, first, values);
	}

	fn fill(&self, arena: &mut Arena, at: At, value: f32) {
		self.each("fill", at.len(), &[arena.memory(), arena.at(&at), Float(value)]);
	}

	fn copy(&self, arena: &mut Arena, from: At, to: usize) {
		if from.start != to {
			self.each("copy", from.len(), &[arena.memory(), arena.at(&from), Offset(to as u64)]);
		}
	}

	fn tensors_root(&self, arena: &Arena, layout: &ParamLayout, at: At) -> Hash {
		// No hash that a device that failed leaves here can be taken for one.
		let mut hashes = vec![[u64::MAX; 4]; layout.tile_count()];
		let Some(buffer) = self.upload(&hashes) else { return Hash::default() };
		let mut first = 0;
		for tensor in layout.tensors() {
			let (tiles, tensor_at) = (tile_count(tensor.rows, tensor.cols), Offset((at.start + tensor.offset) as u64));
			let shape = [number(tensor.rows), number(tensor.cols)];
			self.each("tile_hashes", tiles, &[&[arena.memory(), tensor_at], &shape[..], &[Memory(buffer.get()), Offset(first)]].concat());
			first += tiles as u64;
		}
		self.download("read hashes", &buffer, 0, &mut hashes);
		let bytes = |words: &[u64; 4]| {
			let mut hash = Hash::default();
			hash.chunks_exact_mut(8).zip(words).for_each(|(bytes, word)| bytes.copy_from_slice(&word.to_le_bytes()));
			hash
		};
		merkle_root(&hashes.iter().map(bytes).collect::<Vec<_>>())
	}

	fn embedding_gather(&self, arena: &mut Arena, table: At, dim: usize, ids: &[u32], out: At) {
		check(ids, table.len() / dim.max(1));
		let Some(ids) = self.upload(ids) else { return };
		let from = [arena.memory(), arena.memory(), arena.at(&table)];
		self.each("gather", out.len(), &[&from[..], &[Memory(ids.get()), arena.at(&out), number(dim)]].concat());
	}

	fn embedding_scatter_add(&self, arena: &mut Arena, dy: At, dim: usize, ids: &[u32], grad: At) {
		check(ids, grad.len() / dim.max(1));
		// Tokens of an id one after the other, ascending.
		let mut order: Vec<u32> = (0..).zip(ids).map(|(token, _)| token).collect();
		let id = |token: &u32| ids.get(usize::try_from(*token).unwrap_or(usize::MAX)).copied();
		order.sort_by_key(id);
		let begins = (0..).zip(&order).filter(|(place, token)| *place == 0 || order.get(*place - 1).and_then(id) != id(token));
		let mut starts: Vec<u32> = begins.map(|(place, _)| u32::try_from(place).unwrap_or(u32::MAX)).collect();
		let rows = starts.len();
		starts.push(u32::try_from(order.len()).unwrap_or(u32::MAX));
		let (Some(ids), Some(order), Some(starts)) = (self.upload(ids), self.upload(&order), self.upload(&starts)) else { return };
		let lists = [&ids, &order, &starts].map(|list| Memory(list.get()));
		let [ids, order, starts] = lists;
		self.each_in_rows("scatter_add", [dim, rows], &[arena.memory(), arena.at(&dy), ids, order, starts, arena.at(&grad), number(dim)]);
	}

	fn count_targets(&self, arena: &mut Arena, targets: &[u32], out: At) {
		let Some(targets) = self.upload(targets) else { return };
		self.each("count_targets", out.len(), &[arena.memory(), Memory(targets.get()), arena.at(&out)]);
	}

	fn rms_stats(&self, arena: &mut Arena, x: At, dim: usize, eps: f32, r: At) {
		self.by_lanes("rms_stats", r.len(), &[arena.memory(), arena.at(&x), arena.at(&r), number(dim), Float(eps)]);
	}

	fn rms_apply(&self, arena: &mut Arena, x: At, r: At, w: At, y: At) {
		self.each("rms_apply", y.len(), &[arena.memory(), arena.at(&x), arena.at(&r), arena.at(&w), arena.at(&y), number(w.len())]);
	}

	fn rms_backward_stats(&self, arena: &mut Arena, input: RmsInput, k: At) {
		let RmsInput { dy, x, w, r } = input;
		let [dy, x, from, r] = [&dy, &x, &w, &r].map(|at| arena.at(at));
		self.by_lanes("rms_backward_stats", k.len(), &[arena.memory(), dy, x, from, r, arena.at(&k), number(w.len())]);
	}

	fn rms_backward_apply(&self, arena: &mut Arena, input: RmsInput, k: At, dx: At, start: Start) {
		let RmsInput { dy, x, w, r } = input;
		let (dim, [dy, x, w, r, k]) = (w.len(), [&dy, &x, &w, &r, &k].map(|at| arena.at(at)));
		self.each("rms_backward_apply", dx.len(), &[arena.memory(), dy, x, w, r, k, arena.at(&dx), number(dim), existing(start)]);
	}

	fn rms_weight_grad(&self, arena: &mut Arena, [dy, x, r]: [At; 3], heads: usize, dw: At, start: Start) {
		let (dim, rows) = (dw.len(), r.len() / heads);
		let [dy, x, r] = [&dy, &x, &r].map(|at| arena.at(at));
		let shape = [number(rows), number(heads), number(dim), existing(start)];
		self.each("rms_weight_grad", dim, &[&[arena.memory(), dy, x, r, arena.at(&dw)], &shape[..]].concat());
	}

	fn add_bias(&self, arena: &mut Arena, x: At, b: At) {
		self.each("add_bias", x.len(), &[arena.memory(), arena.at(&x), arena.at(&b), number(b.len())]);
	}

	fn column_sums(&self, arena: &mut Arena, dy: At, db: At, start: Start) {
		let (rows, cols) = (dy.len() / db.len(), db.len());
		self.each("column_sums", cols, &[arena.memory(), arena.at(&dy), arena.at(&db), number(rows), number(cols), existing(start)]);
	}

	fn scale(&self, arena: &mut Arena, x: At, factor: f32) {
		self.each("scale", x.len(), &[arena.memory(), arena.at(&x), Float(factor)]);
	}

	fn add_assign(&self, arena: &mut Arena, x: At, y: At) {
		self.each("add_assign", x.len(), &[arena.memory(), arena.at(&x), arena.at(&y)]);
	}

	fn rope(&self, arena: &mut Arena, dims: RopeDims, x: At, [cos, sin]: [&Self::Table; 2], back: bool) {
		let (Table(Some(cos)), Table(Some(sin))) = (cos, sin) else { return };
		let shape = [number(dims.seq), number(dims.heads), number(dims.head_dim / 2), Number(u32::from(back))];
		let operands = [arena.memory(), arena.at(&x), Memory(cos.get()), Memory(sin.get())];
		self.each("rope", x.len() / 2, &[operands, shape].concat());
	}

	fn product(&self, arena: &mut Arena, kind: Product, dims: MatDims, [a, b]: [At; 2], c: At, start: Start) {
		let k = dims.k;
		let segment = match kind {
			Product::Nt | Product::Nn => k,
			Product::Tn => SEGMENT,
			Product::Int8 => return self.quantized_product(arena, dims, [a, b], c, start),
			Product::Int8Nt | Product::Int8Nn | Product::Int8Tn => return self.product_of_blocks(arena, kind, dims, [a, b], c, start),
		};
		let operands = [arena.memory(), arena.at(&a), arena.memory(), arena.at(&b), arena.memory(), arena.at(&c)];
		self.multiply_tiles(kind, &operands, dims, segment, start);
	}

	fn attention_forward(&self, arena: &mut Arena, dims: AttentionDims, input: [At; 3], o: At) {
		let mut kept = self.scratch();
		let all = dims.batch * dims.heads * dims.seq;
		let most = (SCRATCH / dims.seq).clamp(1, all);
		let Some(scratch) = self.scratch_room(&mut kept[0], most * dims.seq) else { return };
		let [q, k, v] = input.each_ref().map(|at| arena.at(at));
		for first in (0..all).step_by(most) {
			let rows = most.min(all - first);
			let operands = [arena.memory(), q, k, v, arena.at(&o), Memory(scratch), Offset(first as u64)];
			let arguments = [&operands[..], &shape(&dims), &[Float(attention_scale(dims.head_dim))]].concat();
			self.launch("attention_forward", [rows * ROW], [ROW], &arguments);
		}
	}

	fn attention_backward(&self, arena: &mut Arena, dims: AttentionDims, input: [At; 5], gradients: [At; 3]) {
		let mut kept = self.scratch();
		// A key head's queries in all its heads, of a sequence.
		let (pairs, rows) = (dims.batch * dims.kv_heads, dims.group() * dims.seq);
		let most = (SCRATCH / (rows * dims.seq)).clamp(1, pairs);
		let room = most * rows * dims.seq;
		let (Some(scratch), Some(scores)) = (self.scratch_room(&mut kept[0], room), self.scratch_room(&mut kept[1], room)) else { return };
		let [q, k, v, o, d_o] = input.each_ref().map(|at| arena.at(at));
		let [dq, dk, dv] = gradients.each_ref().map(|at| arena.at(at));
		let kept = [Memory(scratch), Memory(scores)];
		for first in (0..pairs).step_by(most) {
			let here = most.min(pairs - first);
			let operands = [arena.memory(), q, k, v, o, d_o, dq];
			let queries = [&operands[..], &kept, &[Offset((first * rows) as u64)], &shape(&dims), &[Float(attention_scale(dims.head_dim))]];
			self.launch("attention_backward_queries", [here * rows * ROW], [ROW], &queries.concat());
			let keys = [&[arena.memory(), q, d_o, dk, dv][..], &kept, &[Offset(first as u64)], &shape(&dims)].concat();
			let global = [dims.head_dim.next_multiple_of(16), dims.seq.next_multiple_of(4), here];
			self.launch("attention_backward_keys", global, [16, 4, 1], &keys);
		}
	}

	fn swiglu_forward(&self, arena: &mut Arena, gate: At, up: At, h: At) {
		self.each("swiglu_forward", h.len(), &[arena.memory(), arena.at(&gate), arena.at(&up), arena.at(&h)]);
	}

	fn swiglu_backward(&self, arena: &mut Arena, input: [At; 3], gradients: [At; 2]) {
		let ([dh, gate, up], [d_gate, d_up]) = (input.each_ref().map(|at| arena.at(at)), gradients.each_ref().map(|at| arena.at(at)));
		self.each("swiglu_backward", input[0].len(), &[arena.memory(), dh, gate, up, d_gate, d_up]);
	}

	fn cross_entropy_stats(&self, arena: &mut Arena, logits: At, vocab: usize, max: At, sum: At) {
		self.by_lanes(
			"cross_entropy_stats",
			max.len(),
			&[arena.memory(), arena.at(&logits), arena.at(&max), arena.at(&sum), number(vocab)],
		);
	}

	fn cross_entropy_loss(&self, arena: &mut Arena, input: [At; 3], vocab: usize, targets: &[u32], loss: At) {
		let targets_that_count = targets.iter().copied().filter(|target| *target != NO_TARGET);
		check(&targets_that_count.collect::<Vec<_>>(), vocab);
		let Some(targets) = self.upload(targets) else { return };
		let [logits, max, sum] = input.each_ref().map(|at| arena.at(at));
		let arguments = [arena.memory(), logits, Memory(targets.get()), max, sum, arena.at(&loss), number(vocab)];
		self.each("cross_entropy_loss", loss.len(), &arguments);
	}

	fn cross_entropy_backward(&self, arena: &mut Arena, input: [At; 3], vocab: usize, targets: &[u32], inv_n: f32) {
		let rows = targets.len();
		let Some(targets) = self.upload(targets) else { return };
		let [logits, max, sum] = input.each_ref().map(|at| arena.at(at));
		let arguments = [arena.memory(), logits, Memory(targets.get()), max, sum, number(vocab), Float(inv_n)];
		self.each_in_rows("cross_entropy_backward", [vocab, rows], &arguments);
	}

	fn partial_sums(&self, arena: &mut Arena, x: At, partials: At) {
		let tiles = tile_count(x.len(), 1);
		let shape = [number(x.len()), Number(1), Number(0)];
		self.by_lanes("tile_sums", tiles, &[&[arena.memory(), arena.at(&x), arena.at(&partials)], &shape[..]].concat());
		self.fill(arena, partials.start + tiles..partials.end, 0.0);
	}

	fn tile_sum_squares(&self, arena: &mut Arena, x: At, rows: usize, cols: usize, partials: At) {
		let shape = [number(rows), number(cols), Number(1)];
		self.by_lanes("tile_sums", partials.len(), &[&[arena.memory(), arena.at(&x), arena.at(&partials)], &shape[..]].concat());
	}

	fn tree_sum(&self, arena: &mut Arena, values: At, to: usize) {
		let to = arena.at(&(to..to + 1));
		if values.is_empty() {
			return self.each("fill", 1, &[arena.memory(), to, Float(0.0)]);
		}
		let (mut kept, groups) = (self.scratch(), values.len().div_ceil(FAN_IN));
		let (Some(one), Some(other)) = (self.scratch_room(&mut kept[0], groups), self.scratch_room(&mut kept[1], groups)) else { return };
		let (mut from, mut first, mut len) = (arena.memory(), arena.at(&values), values.len());
		for level in [one, other].into_iter().cycle() {
			let sums = len.div_ceil(FAN_IN);
			let (into, at) = if sums == 1 { (arena.memory(), to) } else { (Memory(level), Offset(0)) };
			self.by_lanes("tree_level", sums, &[from, first, number(len), into, at]);
			if sums == 1 {
				break;
			}
			(from, first, len) = (into, at, sums);
		}
	}

	fn adamw(&self, arena: &mut Arena, step: &AdamW, state: [At; 3], g: At) {
		let [p, m, v] = state.each_ref().map(|at| arena.at(at));
		let AdamW { lr, beta1, complement1, beta2, complement2, correction1, correction2, eps, decay, clip } = *step;
		let numbers = [lr, beta1, complement1, beta2, complement2, correction1, correction2, eps, decay, clip].map(Float);
		self.each("adamw", g.len(), &[&[arena.memory(), p, m, v, arena.at(&g)], &numbers[..]].concat());
	}

	fn muon_direction(&self, arena: &mut Arena, step: &Muon, m: At, g: At, u: At) {
		let operands = [arena.memory(), arena.at(&m), arena.at(&g), arena.at(&u), Float(step.momentum), Float(step.clip)];
		self.each("muon_direction", g.len(), &operands);
	}

	fn muon_normalize(&self, arena: &mut Arena, x: At, sum_squares: usize) {
		self.each("muon_normalize", x.len(), &[arena.memory(), arena.at(&x), arena.at(&(sum_squares..sum_squares + 1))]);
	}

	fn muon_polynomial(&self, arena: &mut Arena, a: At, aa: At, n: usize) {
		self.each("muon_polynomial", a.len(), &[arena.memory(), arena.at(&a), arena.at(&aa), number(n)]);
	}

	fn muon(&self, arena: &mut Arena, step: &Muon, state: [At; 2], g: At, x: At) {
		let [p, m] = state.each_ref().map(|at| arena.at(at));
		let Muon { rate, momentum, decay, clip } = *step;
		let numbers = [rate, momentum, decay, clip].map(Float);
		self.each("muon", g.len(), &[&[arena.memory(), p, m, arena.at(&g), arena.at(&x)], &numbers[..]].concat());
	}

	fn delta(&self, arena: &mut Arena, base: &[f32], end: At, decay: Option<f32>, x: At) {
		self.delta_in_windows(arena, base, end, decay, x);
	}

	fn encode(&self, arena: &mut Arena, code: Code, tiling: &Tiling, x: At) -> Result<Vec<f32>, CodeError> {
		self.encode_in_windows(arena, code, tiling, x)
	}

	fn is_finite(&self, arena: &Arena, x: At) -> bool {
		let mut found = [0];
		let Some(buffer) = self.upload(&found) else { return false };
		self.each("find_infinite", x.len(), &[arena.memory(), arena.at(&x), Memory(buffer.get())]);
		self.download("read what is finite", &buffer, 0, &mut found);
		found == [0]
	}
}

impl Arena {
	pub(crate) fn memory(&self) -> Argument {
		Memory(self.buffer.buffer.get())
	}

	/// Where an operand begins.
	///
	/// # Panics
	/// If it does not lie within the arena: kernels do not look.
	pub(crate) fn at(&self, at: &At) -> Argument {
		assert!(at.start <= at.end && at.end <= self.len, "operand");
		// No wider than 64 bits.
		Offset(at.start as u64)
	}
}

/// Panics if one of `ids` is not below `end`, as the CPU does.
pub(crate) fn check(ids: &[u32], end: usize) {
	assert!(ids.iter().all(|id| usize::try_from(*id).is_ok_and(|id| id < end)), "identifier");
}

/// What kernels of attention are told of its shape.
fn shape(dims: &AttentionDims) -> [Argument; 4] {
	[dims.seq, dims.heads, dims.kv_heads, dims.head_dim].map(number)
}
