//! Where to listen, and whether other machines can reach that. No name is looked up: what a name means could change, and with it who is served.
//!
//! May touch: nothing of the other rooms.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// An address and port of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address(SocketAddr);

impl Address {
    pub(crate) fn socket(self) -> SocketAddr {
        self.0
    }

    pub(crate) fn is_loopback(self) -> bool {
        self.0.ip().to_canonical().is_loopback()
    }
}

impl FromStr for Address {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let local = |port: &str| port.parse().ok().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        // A sign is read as a part of a number.
        let bare = Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        if let Some(port) = bare.or_else(|| text.strip_prefix("localhost:")) {
            return local(port).map(Self).ok_or("the port is a number up to 65535");
        }
        if let Ok(socket) = text.parse() {
            return Ok(Self(socket));
        }
        let bare = text.trim_start_matches('[').trim_end_matches(']');
        if bare == "localhost" || bare.parse::<IpAddr>().is_ok() {
            return Err("a port is missing; give 127.0.0.1:8000 or [::1]:8000");
        }
        Err("not an IP address with a port, such as 127.0.0.1:8000; names are not looked up")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a name that is looked up, a port alone that listens everywhere, an alias of loopback taken for public or the other way round.
    #[test]
    fn addresses() {
        for (text, socket, loopback) in [
            ("8000", "127.0.0.1:8000", true),
            ("0", "127.0.0.1:0", true),
            ("localhost:80", "127.0.0.1:80", true),
            ("127.0.0.1:8000", "127.0.0.1:8000", true),
            ("127.9.9.9:1", "127.9.9.9:1", true),
            ("[::1]:0", "[::1]:0", true),
            ("[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]:1", true),
            ("0.0.0.0:8000", "0.0.0.0:8000", false),
            ("[::]:8000", "[::]:8000", false),
            ("192.168.0.7:8000", "192.168.0.7:8000", false),
            ("[::ffff:192.168.0.7]:1", "[::ffff:192.168.0.7]:1", false),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!((address.socket().to_string().as_str(), address.is_loopback()), (socket, loopback), "{text}");
        }
        for text in [
            "",
            "+80",
            "65536",
            "localhost",
            "localhost:",
            "127.0.0.1",
            "[::1]",
            "::1",
            "example.com:80",
            "localhost.:80",
            ":80",
            "1:2:3",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
