//! Behaviour of calls, elections, rewards, offences, view functions and genesis.
