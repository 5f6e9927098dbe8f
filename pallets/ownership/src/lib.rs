//! Shares of models: minted by final work, paid pro rata to their holders.
#![cfg_attr(not(feature = "std"), no_std)]
