//! A port of the agent loop, and the adapter through which loopspec judges it.

pub mod adapter;
pub mod json;
pub mod protocol;
pub mod toy;
