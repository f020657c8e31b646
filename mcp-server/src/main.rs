//! The program `cap-roots-mcp`; all of it is in the library beside it, so that what is fuzzed is what is installed.

use std::process::ExitCode;

fn main() -> ExitCode {
    cap_roots_mcp::main()
}
