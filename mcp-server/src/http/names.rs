//! `Host` and `Origin`: by which names the server may be called, and from which pages.
//!
//! A page of the web can have its own name lead to this machine (DNS rebinding); a browser then sends that name as `Host`. An address cannot
//! be led elsewhere, so what stands in for the server are addresses, `localhost`, and the names that the operator gave.
//!
//! May touch: nothing of the other rooms.

use std::net::IpAddr;
use std::str::FromStr;

use hyper::HeaderMap;
use hyper::http::uri::Authority;
use hyper::http::{header, request::Parts};

use super::reply::Refused;

/// A name that the operator gave: as a host alone it stands for any port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    host: String,
    port: Option<u16>,
}

impl FromStr for Name {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = Name::of(text).ok_or("not a host name, with or without a port")?;
        if name.host.contains('*') { Err("a pattern is not a host name; name each host") } else { Ok(name) }
    }
}

impl Name {
    /// `host` or `host:port`, as in a `Host` header.
    fn of(text: &str) -> Option<Self> {
        // The parser would take a user's name and a port that is no number.
        if text.contains('@') {
            return None;
        }
        let authority: Authority = text.parse().ok()?;
        let host = authority.host();
        let port = authority.port_u16();
        if host.is_empty() || text.len() != host.len() && port.is_none() {
            return None;
        }
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        Some(Self { host: host.trim_end_matches('.').to_ascii_lowercase(), port })
    }

    fn ip(&self) -> Option<IpAddr> {
        self.host.parse().ok().map(|ip: IpAddr| ip.to_canonical())
    }
}

/// The names of one server.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    bound: IpAddr,
    given: Vec<Name>,
}

impl Names {
    /// `bound` is where it listens.
    pub(crate) fn new(bound: IpAddr, given: Vec<Name>) -> Self {
        Self { bound: bound.to_canonical(), given }
    }

    /// Whether the request was meant for this server, and comes from no page but its own.
    pub(crate) fn judge(&self, request: &Parts) -> Result<(), Refused> {
        let host = one(&request.headers, &header::HOST).map_err(|_| Refused::HostMalformed)?;
        let host = host.and_then(Name::of).ok_or(Refused::HostMalformed)?;
        // The whole form of a target says the host once more, and counts for more.
        let target =
            request.uri.authority().map(|authority| Name::of(authority.as_str()).ok_or(Refused::HostMalformed)).transpose()?;
        if !self.is_host(&host) || target.is_some_and(|target| !self.is_host(&target)) {
            return Err(Refused::Host);
        }
        match one(&request.headers, &header::ORIGIN) {
            Ok(None) => Ok(()),
            Ok(Some(origin)) if self.is_origin(origin, &host) => Ok(()),
            _ => Err(Refused::Origin),
        }
    }

    fn is_host(&self, host: &Name) -> bool {
        self.is_given(host) || self.is_own(host)
    }

    fn is_given(&self, host: &Name) -> bool {
        self.given.iter().any(|given| given.host == host.host && given.port.is_none_or(|port| host.port == Some(port)))
    }

    /// On any port: a forwarded port is another one on the way here.
    fn is_own(&self, host: &Name) -> bool {
        match host.ip() {
            Some(ip) => self.bound.is_unspecified() || ip == self.bound || ip.is_loopback() && self.bound.is_loopback(),
            None => host.host == "localhost" && (self.bound.is_loopback() || self.bound.is_unspecified()),
        }
    }

    /// A page that came from this server, by whichever of its names: another port of this machine is somebody else.
    fn is_origin(&self, origin: &str, host: &Name) -> bool {
        let Some((scheme, authority)) = origin.split_once("://") else { return false };
        let default = match scheme {
            "http" => 80,
            "https" => 443,
            _ => return false,
        };
        let Some(origin) = Name::of(authority).filter(|_| !authority.contains('/')) else { return false };
        let port = origin.port.unwrap_or(default);
        self.is_given(&Name { port: Some(port), ..origin.clone() })
            || self.is_own(&origin) && scheme == "http" && port == host.port.unwrap_or(80)
    }
}

/// The one value of a header; an error if there are several, or one that is no text.
fn one<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().map(|value| value.to_str().map_err(|_| ())).transpose()?;
    if values.next().is_some() { Err(()) } else { Ok(value) }
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn judge(names: &Names, target: &str, headers: &[(&str, &str)]) -> Result<(), Refused> {
        let request = headers.iter().fold(Request::post(target), |request, (name, value)| request.header(*name, *value));
        names.judge(&request.body(()).unwrap().into_parts().0)
    }

    fn names(bound: &str, given: &[&str]) -> Names {
        Names::new(bound.parse().unwrap(), given.iter().map(|name| name.parse().unwrap()).collect())
    }

    /// Catches: a host that only begins or ends like one of ours, a second `Host` header, a target that says another host, a name of another
    /// machine that counts because its address could be this one.
    #[test]
    fn hosts() {
        let (local, given, all) =
            (names("127.0.0.1", &[]), names("192.168.0.7", &["Files.example", "b.example:81"]), names("0.0.0.0", &[]));
        for (names, host, allowed) in [
            (&local, "localhost:8000", true),
            (&local, "LOCALHOST.", true),
            (&local, "127.0.0.1:9", true),
            (&local, "[::1]:8000", true),
            (&local, "[::ffff:127.0.0.1]", true),
            (&local, "evil.example", false),
            (&local, "localhost.evil.example:8000", false),
            (&local, "127.0.0.1.evil.example", false),
            (&local, "evil-localhost", false),
            (&local, "192.168.0.7:8000", false),
            (&given, "192.168.0.7:8000", true),
            (&given, "files.example", true),
            (&given, "FILES.EXAMPLE:443", true),
            (&given, "b.example:81", true),
            (&given, "b.example", false),
            (&given, "b.example:82", false),
            (&given, "x.files.example", false),
            (&given, "localhost", false),
            (&given, "127.0.0.1", false),
            (&all, "10.0.0.1", true),
            (&all, "localhost", true),
            (&all, "evil.example", false),
        ] {
            let expected = if allowed { Ok(()) } else { Err(Refused::Host) };
            assert_eq!(judge(names, "/mcp", &[("host", host)]), expected, "{host}");
        }
        for malformed in
            ["", "a@localhost", "localhost:x", "localhost:", "local host", "http://localhost", ":80", "[::1", "localhost:99999"]
        {
            assert_eq!(judge(&local, "/mcp", &[("host", malformed)]), Err(Refused::HostMalformed), "{malformed:?}");
        }
        assert_eq!(judge(&local, "/mcp", &[]), Err(Refused::HostMalformed));
        assert_eq!(judge(&local, "/mcp", &[("host", "localhost"), ("host", "evil.example")]), Err(Refused::HostMalformed));
        assert_eq!(judge(&local, "http://evil.example/mcp", &[("host", "localhost")]), Err(Refused::Host));
        assert_eq!(judge(&local, "http://localhost/mcp", &[("host", "localhost")]), Ok(()));
    }

    /// Catches: a page of another port or scheme, one without an origin of its own, a suffix that passes for the whole.
    #[test]
    fn origins() {
        let (local, given) = (names("127.0.0.1", &[]), names("127.0.0.1", &["files.example", "b.example:8443"]));
        for (names, origin, allowed) in [
            (&local, "http://localhost:8000", true),
            (&local, "http://127.0.0.1:8000", true),
            (&local, "http://[::1]:8000", true),
            (&local, "http://localhost:3000", false),
            (&local, "http://localhost", false),
            (&local, "https://localhost:8000", false),
            (&local, "http://evil.example:8000", false),
            (&local, "http://localhost:8000.evil.example", false),
            (&local, "http://localhost:8000/", false),
            (&local, "http://localhost:8000@evil.example", false),
            (&local, "null", false),
            (&local, "", false),
            (&local, "localhost:8000", false),
            (&local, "file://", false),
            (&given, "https://files.example", true),
            (&given, "http://files.example:81", true),
            (&given, "https://b.example:8443", true),
            (&given, "https://b.example", false),
            (&given, "https://evil.example", false),
        ] {
            let expected = if allowed { Ok(()) } else { Err(Refused::Origin) };
            assert_eq!(judge(names, "/mcp", &[("host", "localhost:8000"), ("origin", origin)]), expected, "{origin:?}");
        }
        let two = [("host", "localhost:8000"), ("origin", "http://localhost:8000"), ("origin", "http://evil.example")];
        assert_eq!(judge(&local, "/mcp", &two), Err(Refused::Origin));
    }

    /// Catches: an option that takes a pattern, and matches nothing or everything by it.
    #[test]
    fn names_to_give() {
        for wrong in ["", "*", "*.example", "a/b", "https://a", "a:b", "a b"] {
            assert!(wrong.parse::<Name>().is_err(), "{wrong:?}");
        }
    }
}
