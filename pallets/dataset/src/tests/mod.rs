//! Behaviour of calls, trait and view functions.
