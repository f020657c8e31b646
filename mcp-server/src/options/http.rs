//! The options of streamable HTTP.
//!
//! May touch: `http`.

use std::path::PathBuf;

use clap::Args;

use crate::http::{Access, Address, Name, Terms};

#[derive(Debug, Args)]
#[command(next_help_heading = "Over HTTP")]
pub(super) struct HttpOptions {
    /// Serve over streamable HTTP at /mcp instead of over standard input and output: an IP address with a port, or a port of this machine
    /// alone; port 0 takes a free one. A token is made and printed once on standard error, unless one of the next options says otherwise.
    #[arg(long = "http", value_name = "ADDR", conflicts_with_all = ["call", "explain", "config_schema", "doctor"])]
    http: Option<Address>,

    /// Take the token from a file that its owner alone may use, and that lies in no directory that is served: 16 characters or more.
    #[arg(long, value_name = "FILE", requires = "http", conflicts_with = "http_no_token")]
    http_token_file: Option<PathBuf>,

    /// Ask for no token: every program on this machine, of whatever user, may do what this server may.
    #[arg(long, requires = "http")]
    http_no_token: bool,

    /// Let ADDR be one that other machines can reach. What goes over the network is not encrypted.
    #[arg(long, requires = "http")]
    http_public: bool,

    /// A name by which clients call the server, beside localhost and its addresses, for requests through a proxy or by a name in the
    /// network; with :PORT for that port alone. Pages of that name may send requests as well.
    #[arg(long = "http-host", value_name = "NAME", requires = "http")]
    http_hosts: Vec<Name>,
}

impl HttpOptions {
    /// The terms, if HTTP is asked for; or the line that says what does not go together.
    pub(super) fn terms(&self) -> Result<Option<Terms>, String> {
        let Some(address) = self.http else { return Ok(None) };
        let access = match &self.http_token_file {
            _ if self.http_no_token => Access::Open,
            Some(file) => Access::File(file.clone()),
            None => Access::Fresh,
        };
        Terms::new(address, self.http_public, self.http_hosts.clone(), access).map(Some)
    }
}
