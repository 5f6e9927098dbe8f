//! Keys and values of texts, in pages.

use super::beside::PackedAdapter;
use crate::native::PAGE;
use std::{
	any::Any,
	fmt,
	sync::{
		atomic::{AtomicU64, AtomicUsize, Ordering},
		Arc, Mutex, MutexGuard, PoisonError,
	},
};

/// Tokens whose keys and values lie in one page.
pub const PAGE_TOKENS: usize = PAGE;

/// Number of the next page, of whatever text.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Memory for keys and values, in pages. Clones share it.
#[derive(Clone, Debug)]
pub struct Pages(Arc<PagesInner>);

#[derive(Debug)]
struct PagesInner {
	limit: usize,
	used: AtomicUsize,
	/// Who is told what is given up, if what is in the pages is elsewhere.
	given_up: Option<GivenUp>,
	/// If what is in the pages is in memory of a device.
	device: Option<DeviceMemory>,
}

/// Memory of a device with places for pages.
struct DeviceMemory {
	memory: Box<dyn Any + Send + Sync>,
	free: Mutex<Free>,
}

/// Places that no page has: those that were given back, and all from `next` on.
#[derive(Default)]
struct Free {
	next: u32,
	given_back: Vec<u32>,
}

impl DeviceMemory {
	fn free(&self) -> MutexGuard<'_, Free> {
		self.free.lock().unwrap_or_else(PoisonError::into_inner)
	}

	fn take(&self) -> u32 {
		let mut free = self.free();
		free.given_back.pop().unwrap_or_else(|| {
			free.next = free.next.saturating_add(1);
			free.next - 1
		})
	}
}

impl fmt::Debug for DeviceMemory {
	fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
		formatter.debug_struct("DeviceMemory").finish_non_exhaustive()
	}
}

/// Numbers of pages that no text has any more. Clones share them.
#[derive(Clone, Default, Debug)]
pub struct GivenUp(Arc<Mutex<Vec<u64>>>);

impl GivenUp {
	/// Those since it was asked last.
	pub fn take(&self) -> Vec<u64> {
		core::mem::take(&mut *self.numbers())
	}

	/// Also after a thread has panicked while it held them: there is nothing half done about them.
	fn numbers(&self) -> MutexGuard<'_, Vec<u64>> {
		self.0.lock().unwrap_or_else(PoisonError::into_inner)
	}
}

impl Pages {
	/// Room for at most `limit` pages at a time.
	pub fn new(limit: usize) -> Self {
		Self(Arc::new(PagesInner { limit, used: AtomicUsize::new(0), given_up: None, device: None }))
	}

	/// Room in `memory` of a device, which has places for `places` pages.
	pub fn on_device(places: u32, memory: impl Any + Send + Sync) -> Self {
		let device = DeviceMemory { memory: Box::new(memory), free: Mutex::default() };
		let limit = usize::try_from(places).unwrap_or(usize::MAX);
		Self(Arc::new(PagesInner { limit, used: AtomicUsize::new(0), given_up: None, device: Some(device) }))
	}

	/// The memory that [`Self::on_device`] was given; `None` if it is another kind.
	pub fn device_memory<M: Any>(&self) -> Option<&M> {
		self.0.device.as_ref()?.memory.downcast_ref()
	}

	/// Whether they are in memory of a device.
	pub fn are_on_device(&self) -> bool {
		self.0.device.is_some()
	}

	/// As [`Self::new`], of pages that others hold: here they are numbers.
	pub fn elsewhere(limit: usize, given_up: GivenUp) -> Self {
		Self(Arc::new(PagesInner { limit, used: AtomicUsize::new(0), given_up: Some(given_up), device: None }))
	}

	/// Pages in use.
	pub fn used(&self) -> usize {
		self.0.used.load(Ordering::Relaxed)
	}

	/// Pages that there may be.
	pub fn limit(&self) -> usize {
		self.0.limit
	}

	/// Takes `count` pages of `len` elements, or none.
	pub(super) fn take(&self, count: usize, len: usize) -> Option<Vec<Page>> {
		let fits = |used: usize| used.checked_add(count).filter(|used| *used <= self.0.limit);
		self.0.used.fetch_update(Ordering::Acquire, Ordering::Relaxed, fits).ok()?;
		let number = || NEXT.fetch_add(1, Ordering::Relaxed);
		// Pages give their places back before they are counted out.
		let page = |_| match &self.0.device {
			Some(device) => Page { number: number(), data: Vec::new(), place: Some(device.take()), of: self.0.clone() },
			None => Page { number: number(), data: vec![0.0; len], place: None, of: self.0.clone() },
		};
		Some((0..count).map(page).collect())
	}
}

/// Keys and values of up to [`PAGE_TOKENS`] consecutive tokens of a text, in all layers.
#[derive(Debug)]
pub struct Page {
	number: u64,
	pub(super) data: Vec<f32>,
	/// Its place in memory of a device.
	place: Option<u32>,
	of: Arc<PagesInner>,
}

impl Drop for Page {
	fn drop(&mut self) {
		if let (Some(device), Some(place)) = (&self.of.device, self.place) {
			device.free().given_back.push(place);
		}
		self.of.used.fetch_sub(1, Ordering::Release);
		if let Some(given_up) = &self.of.given_up {
			given_up.numbers().push(self.number);
		}
	}
}

/// A text that a model has read: the keys and values of its tokens.
#[derive(Default, Debug)]
pub struct Sequence {
	len: usize,
	/// Pages without room: texts that begin alike can share them.
	full: Vec<Arc<Page>>,
	open: Vec<Page>,
	/// It is read beside this one.
	adapter: Option<Arc<PackedAdapter>>,
}

impl Sequence {
	/// A text that begins with what these full pages hold.
	pub fn with_prefix(full: Vec<Arc<Page>>) -> Self {
		Self { len: full.len() * PAGE, full, open: Vec::new(), adapter: None }
	}

	/// The same text, read beside an adapter: what it begins with has to be so, too.
	#[must_use]
	pub fn beside(self, adapter: Option<Arc<PackedAdapter>>) -> Self {
		Self { adapter, ..self }
	}

	/// The adapter that it is read beside.
	pub fn adapter(&self) -> Option<&Arc<PackedAdapter>> {
		self.adapter.as_ref()
	}

	/// Tokens read so far.
	pub fn len(&self) -> usize {
		self.len
	}

	/// Whether nothing was read.
	pub fn is_empty(&self) -> bool {
		self.len == 0
	}

	/// Its pages without room, each of [`PAGE_TOKENS`] tokens, from the text's beginning on.
	pub fn full(&mut self) -> &[Arc<Page>] {
		let filled = self.len / PAGE - self.full.len();
		self.full.extend(self.open.drain(..filled).map(Arc::new));
		&self.full
	}

	/// Pages to be taken for `tokens` more.
	pub fn pages_for(&self, tokens: usize) -> usize {
		(self.len + tokens).div_ceil(PAGE).saturating_sub(self.full.len() + self.open.len())
	}

	/// Takes the pages for `tokens` more, of `len` elements each; `None` if there are not so many.
	pub fn reserve(&mut self, pages: &Pages, tokens: usize, len: usize) -> Option<()> {
		self.open.extend(pages.take(self.pages_for(tokens), len)?);
		Some(())
	}

	/// Takes the pages for `tokens` more from `new`.
	pub(super) fn fill(&mut self, tokens: usize, new: &mut impl Iterator<Item = Page>) {
		self.open.extend(new.take(self.pages_for(tokens)));
	}

	/// Notes that `tokens` were read into pages that were reserved.
	pub fn advance(&mut self, tokens: usize) {
		self.len += tokens;
	}

	/// The places of its pages in memory of a device, from the text's beginning on.
	pub fn places(&self) -> impl Iterator<Item = Option<u32>> + '_ {
		self.full.iter().map(|page| page.place).chain(self.open.iter().map(|page| page.place))
	}

	/// Whether its pages are where those of `pages` are: on this machine, or in the same memory of a device.
	pub(super) fn fits(&self, pages: &Pages) -> bool {
		let fits = |page: &Page| match (&page.of.device, &pages.0.device) {
			(None, None) => true,
			_ => Arc::ptr_eq(&page.of, &pages.0),
		};
		self.full.iter().all(|page| fits(page)) && self.open.iter().all(fits)
	}

	/// The numbers of its pages, from the text's beginning on.
	pub fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
		self.full.iter().map(|page| page.number).chain(self.open.iter().map(|page| page.number))
	}

	/// A text of `len` tokens in these pages, of which `full` are without room.
	pub fn of_pages(len: usize, full: Vec<Arc<Page>>, open: Vec<Page>) -> Self {
		Self { len, full, open, adapter: None }
	}

	/// Its pages: those that others may share, and the rest.
	pub fn into_pages(self) -> (Vec<Arc<Page>>, Vec<Page>) {
		(self.full, self.open)
	}

	pub(super) fn pages(&self) -> Vec<&[f32]> {
		let full = self.full.iter().map(|page| &page.data[..]);
		full.chain(self.open.iter().map(|page| &page.data[..])).collect()
	}

	pub(super) fn page_mut(&mut self, position: usize) -> Option<&mut Page> {
		self.open.get_mut((position / PAGE).checked_sub(self.full.len())?)
	}

	/// Forgets the tokens from `len` on. What [`Self::full`] has shown stays.
	pub fn truncate(&mut self, len: usize) {
		self.len = self.len.min(len.max(self.full.len() * PAGE));
		self.open.truncate(self.len.div_ceil(PAGE) - self.full.len());
	}
}
