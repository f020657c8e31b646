//! Tests run as an ordinary user would, also where they are started by root.

use rustix::thread::{CapabilitySet, capabilities, remove_capability_from_bounding_set, set_capabilities};

/// The right to pass by permission bits.
const OVER: CapabilitySet = CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::DAC_READ_SEARCH);

/// Gives up the right to pass by permission bits, for the calling thread and those that it starts from then on. Without it, cases about
/// unreadable directories would test nothing as root.
pub fn drop_override() {
    let mut sets = capabilities(None).unwrap_or_else(|error| panic!("{error}"));
    sets.effective -= OVER;
    sets.permitted -= OVER;
    set_capabilities(None, sets).unwrap_or_else(|error| panic!("{error}"));
}

/// The same, asked of the system once for each thread.
pub fn drop_override_once() {
    thread_local! {
        static DROPPED: () = drop_override();
    }
    DROPPED.with(|()| ());
}

/// The same, for programs that the thread starts as well: one that is started by root would have it anew.
pub fn drop_override_of_programs() {
    for right in OVER {
        // Who may not take it away has it not to give.
        let _ = remove_capability_from_bounding_set(right);
    }
    drop_override();
}
