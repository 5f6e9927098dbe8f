//! Block authors: candidates, nominators, election, rewards and slashing.
#![cfg_attr(not(feature = "std"), no_std)]
