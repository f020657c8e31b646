//! On which terms the server is reached, and what the operator is told of them.
//!
//! May touch: nothing of the other rooms.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::address::Address;
use super::gate::PATH;
use super::names::Name;
use super::token::Token;

/// What a client needs to be let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// A token that is made at the start.
    Fresh,
    /// The token in a file.
    File(PathBuf),
    /// Nothing: only where no other machine can come.
    Open,
}

/// Where the server listens, and for whom.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub(super) address: Address,
    pub(super) names: Vec<Name>,
    access: Access,
}

impl Terms {
    /// Or the line that says why not.
    pub(crate) fn new(address: Address, public: bool, names: Vec<Name>, access: Access) -> Result<Self, String> {
        let at = address.socket();
        if !address.is_loopback() && !public {
            return Err(format!(
                "invalid-argument: other machines can reach {at}; add --http-public if they may, or listen on 127.0.0.1"
            ));
        }
        if !address.is_loopback() && access == Access::Open {
            return Err(format!(
                "invalid-argument: --http-no-token is for this machine alone, and others can reach {at}; leave it out, or listen on 127.0.0.1"
            ));
        }
        Ok(Self { address, names, access })
    }

    /// The file with the token: it must not lie where a client could read or change it.
    pub(crate) fn token_file(&self) -> Option<&Path> {
        match &self.access {
            Access::File(file) => Some(file),
            _ => None,
        }
    }

    pub(super) fn token(&self) -> Result<Option<Token>, String> {
        match &self.access {
            Access::Open => Ok(None),
            Access::Fresh => Token::random()
                .map(Some)
                .map_err(|error| format!("no token can be made: {error}; give one with --http-token-file")),
            Access::File(file) => Token::read(file).map(Some).map_err(|why| format!("the token file {} {why}", shown(file))),
        }
    }

    /// Tells where the server is and how a client gets in: the only text that ever holds a token, and only one that nobody knows yet.
    pub(super) fn announce(&self, bound: SocketAddr, token: Option<&Token>) -> io::Result<()> {
        let mut err = io::stderr();
        writeln!(err, "cap-roots-mcp: listening on http://{bound}{PATH}")?;
        if !self.address.is_loopback() {
            writeln!(
                err,
                "cap-roots-mcp: other machines can reach it, and what goes over the network is not encrypted: put a proxy with TLS before it"
            )?;
        }
        let told = match (&self.access, token) {
            (Access::Fresh, Some(token)) => {
                writeln!(
                    err,
                    "cap-roots-mcp: the token in the next line is of this start alone; --http-token-file FILE sets one that stays"
                )?;
                Some(token.tell().to_owned())
            }
            (Access::File(file), _) => Some(format!("(what is in {})", shown(file))),
            _ => None,
        };
        // Every address of this machine is no address to call.
        let host = if bound.ip().is_unspecified() { format!("localhost:{}", bound.port()) } else { bound.to_string() };
        let url = format!("http://{host}{PATH}");
        let entry = match told {
            Some(token) => {
                serde_json::json!({ "type": "http", "url": url, "headers": { "Authorization": format!("Bearer {token}") } })
            }
            None => {
                writeln!(err, "cap-roots-mcp: no token is asked for: every program on this machine may come in")?;
                serde_json::json!({ "type": "http", "url": url })
            }
        };
        let entry = serde_json::json!({ "mcpServers": { "files": entry } });
        writeln!(err, "cap-roots-mcp: a client is configured with: {entry}")
    }
}

fn shown(path: &Path) -> String {
    cap_roots::escape(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a server that others can reach without anybody having said so, and one that lets all of them in.
    #[test]
    fn who_may_be_reached_and_how() {
        let terms = |address: &str, public, access| Terms::new(address.parse().unwrap(), public, Vec::new(), access).is_ok();
        let file = || Access::File("t".into());
        for (address, public, access, taken) in [
            ("127.0.0.1:1", false, Access::Fresh, true),
            ("127.0.0.1:1", false, Access::Open, true),
            ("[::1]:1", true, Access::Open, true),
            ("0.0.0.0:1", false, Access::Fresh, false),
            ("192.168.0.7:1", false, file(), false),
            ("[::]:1", false, Access::Fresh, false),
            ("0.0.0.0:1", true, Access::Fresh, true),
            ("0.0.0.0:1", true, file(), true),
            ("0.0.0.0:1", true, Access::Open, false),
        ] {
            assert_eq!(terms(address, public, access.clone()), taken, "{address} {public} {access:?}");
        }
    }
}
