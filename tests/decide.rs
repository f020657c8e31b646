//! The decision, in every case that there is.
//!
//! Catches: an operation that needs less than it does, an order of refusals that tells more, deletion where none is granted, a rule for
//! directories that counts for files, a way through a directory that may not be listed.

#![allow(missing_docs, reason = "a test")]

#[test]
fn every_case_is_decided_as_the_table_says() {
    // 4 ceilings above, 4 below, 2 kinds of rule, 28 ends of operations, 2 ways to type, 5 states, 4 grants, with and without deletion.
    assert_eq!(cap_roots_oracle::decide::every_case(), 4 * 4 * 2 * 28 * 2 * 5 * 4 * 2);
}
