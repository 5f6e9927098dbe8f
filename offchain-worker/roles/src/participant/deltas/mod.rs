//! Deltas of others: [`fetch`] gets those that were revealed, and [`refuse`] says which of them are bad. What is refused gets no vote: the planner
//! sets a bit for those that are held, and for no others.

mod fetch;
mod patience;
mod refuse;
