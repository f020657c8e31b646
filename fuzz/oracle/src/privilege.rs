//! Tests run as an ordinary user would, also where they are started by root.

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

/// Gives up the right to pass by permission bits, for the calling thread and those that it starts from then on. Without it, cases about
/// unreadable directories would test nothing as root.
pub fn drop_override() {
    let over = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    let mut sets = capabilities(None).unwrap_or_else(|error| panic!("{error}"));
    sets.effective -= over;
    sets.permitted -= over;
    set_capabilities(None, sets).unwrap_or_else(|error| panic!("{error}"));
}
