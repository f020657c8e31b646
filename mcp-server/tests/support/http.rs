//! A server over HTTP, and clients of it that write their own requests: what no library would send can be sent as well.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::SERVER;

/// For ever, as far as a test can wait.
pub(crate) const HANG: Duration = Duration::from_secs(20);

pub(crate) struct Server {
    child: Child,
    pub(crate) at: SocketAddr,
    pub(crate) token: Option<String>,
    told: Arc<Mutex<String>>,
}

impl Server {
    /// On a free port of this machine.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, &[])
    }

    pub(crate) fn start_with(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut child = Command::new(SERVER)
            .args(["--http", "127.0.0.1:0"])
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let (mut told, mut at, mut entry) = (String::new(), None, None);
        while entry.is_none() {
            let line = lines.next().unwrap_or_else(|| panic!("the server did not start: {told}"));
            at = at.or(line.split_once("listening on http://").map(|(_, url)| url.trim_end_matches("/mcp").parse().unwrap()));
            entry = line.split_once("configured with: ").map(|(_, entry)| serde_json::from_str::<Value>(entry).unwrap());
            told = told + &line + "\n";
        }
        let header = &entry.unwrap()["mcpServers"]["files"]["headers"]["Authorization"];
        let token = header.as_str().map(|header| header.strip_prefix("Bearer ").unwrap().to_owned());
        let told = Arc::new(Mutex::new(told));
        let sink = Arc::clone(&told);
        std::thread::spawn(move || {
            for line in lines {
                let mut told = sink.lock().unwrap();
                *told = std::mem::take(&mut *told) + &line + "\n";
            }
        });
        Self { child, at: at.unwrap(), token, told }
    }

    /// Of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Standard error so far.
    pub(crate) fn told(&self) -> String {
        self.told.lock().unwrap().clone()
    }

    pub(crate) fn connect(&self) -> Connection {
        let stream = TcpStream::connect_timeout(&self.at, HANG).unwrap();
        stream.set_read_timeout(Some(HANG)).unwrap();
        stream.set_write_timeout(Some(HANG)).unwrap();
        Connection { stream: BufReader::new(stream) }
    }

    /// One request on a connection of its own. `headers` come behind those of a good client, or in their place.
    pub(crate) fn send(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut connection = self.connect();
        connection.write(&self.request(method, target, headers, body));
        connection.reply()
    }

    pub(crate) fn post(&self, headers: &[(&str, &str)], body: &str) -> Reply {
        self.send("POST", "/mcp", headers, body.as_bytes())
    }

    pub(crate) fn request(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
        let usual = [
            ("host", self.at.to_string()),
            ("accept", "application/json, text/event-stream".to_owned()),
            ("content-type", "application/json".to_owned()),
            ("authorization", self.token.as_ref().map(|token| format!("Bearer {token}")).unwrap_or_default()),
            ("content-length", body.len().to_string()),
        ];
        let mut text = format!("{method} {target} HTTP/1.1\r\n");
        for (name, value) in &usual {
            if !value.is_empty() && !headers.iter().any(|(other, _)| other == name) {
                text += &format!("{name}: {value}\r\n");
            }
        }
        for (name, value) in headers.iter().filter(|(_, value)| *value != "-") {
            text += &format!("{name}: {value}\r\n");
        }
        text += "\r\n";
        [text.as_bytes(), body].concat()
    }

    pub(crate) fn client(&self, modern: bool) -> Client<'_> {
        let mut client = Client { server: self, modern, session: None, info: Value::Null, capabilities: json!({}), last: 0 };
        client.hello();
        client
    }

    /// One that says that it has roots.
    pub(crate) fn client_with_roots(&self, modern: bool) -> Client<'_> {
        let roots = json!({ "roots": { "listChanged": true } });
        let mut client = Client { server: self, modern, session: None, info: Value::Null, capabilities: roots, last: 0 };
        client.hello();
        client
    }

    #[cfg(unix)]
    pub(crate) fn terminate(&self) {
        let sent = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for the end, and gives what is on standard output as well.
    pub(crate) fn ended(mut self) -> (ExitStatus, String) {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                let mut out = String::new();
                self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
                return (status, out);
            }
            assert!(begun.elapsed() < HANG, "the server does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a start that is refused says, and its status; one that serves instead is ended.
pub(crate) fn refused(arguments: &[&str]) -> (String, String, i32) {
    let mut server = Command::new(SERVER);
    server.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = server.spawn().unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > HANG {
            child.kill().unwrap();
            panic!("it serves: {arguments:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap_or(-1))
}

pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        // An answer may come before the request is out, and close.
        let _ = self.stream.get_mut().write_all(bytes);
    }

    /// The head of the answer, with the status and no body yet. None where the server closed.
    pub(crate) fn head(&mut self) -> Option<Reply> {
        let mut line = String::new();
        let mut next = || {
            line.clear();
            self.stream.read_line(&mut line).ok().filter(|length| *length > 0).map(|_| line.trim_end().to_owned())
        };
        let status = next()?.split(' ').nth(1)?.parse().ok()?;
        let mut headers = HashMap::new();
        while let Some(line) = next().filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(": ").unwrap_or((&line, ""));
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        Some(Reply { status, headers, body: String::new() })
    }

    pub(crate) fn reply(&mut self) -> Reply {
        let mut reply = self.head().expect("no answer");
        let mut body = Vec::new();
        if let Some(length) = reply.headers.get("content-length") {
            body.resize(length.parse().unwrap(), 0);
            self.stream.read_exact(&mut body).unwrap();
        } else if reply.headers.contains_key("transfer-encoding") {
            while let Some(part) = self.chunk().filter(|part| !part.is_empty()) {
                body.extend(part);
            }
        }
        reply.body = String::from_utf8(body).unwrap();
        reply
    }

    /// The next piece of a body that comes in pieces; none where it breaks off.
    pub(crate) fn chunk(&mut self) -> Option<Vec<u8>> {
        let mut line = String::new();
        self.stream.read_line(&mut line).ok().filter(|length| *length > 0)?;
        let mut part = vec![0; usize::from_str_radix(line.trim_end(), 16).unwrap() + 2];
        self.stream.read_exact(&mut part).ok()?;
        part.truncate(part.len() - 2);
        Some(part)
    }
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// The messages in the body, whether it is one, or a stream of events.
    pub(crate) fn messages(&self) -> Vec<Value> {
        if self.header("content-type").starts_with("application/json") {
            return vec![serde_json::from_str(&self.body).unwrap()];
        }
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| !data.trim().is_empty());
        data.map(|data| serde_json::from_str(data).unwrap()).collect()
    }
}

/// A client of one of the two eras.
pub(crate) struct Client<'a> {
    server: &'a Server,
    modern: bool,
    pub(crate) session: Option<String>,
    pub(crate) info: Value,
    capabilities: Value,
    last: usize,
}

impl Client<'_> {
    fn hello(&mut self) {
        if self.modern {
            self.info = self.ask("server/discover", json!({}));
            return;
        }
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": self.capabilities, "clientInfo": { "name": "test", "version": "1" }
        });
        let reply = self.exchange("initialize", hello);
        self.session = Some(reply.header("mcp-session-id").to_owned());
        self.info = reply.messages().pop().unwrap();
        let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
        assert_eq!(self.server.post(&[("mcp-session-id", self.session.as_ref().unwrap())], &told).status, 202);
    }

    /// The headers and the body of a request, and its number.
    pub(crate) fn request(&mut self, method: &str, mut params: Value) -> Vec<u8> {
        self.last += 1;
        let named = params["name"].as_str().or(params["uri"].as_str()).unwrap_or_default().to_owned();
        let mut headers = Vec::new();
        if self.modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            });
            headers.extend([("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)]);
            if !named.is_empty() {
                headers.push(("mcp-name", &named));
            }
        }
        if let Some(session) = &self.session {
            headers.extend([("mcp-session-id", session.as_str()), ("mcp-protocol-version", "2025-11-25")]);
        }
        let message = json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params });
        self.server.request("POST", "/mcp", &headers, message.to_string().as_bytes())
    }

    pub(crate) fn exchange(&mut self, method: &str, params: Value) -> Reply {
        let request = self.request(method, params);
        let mut connection = self.server.connect();
        connection.write(&request);
        connection.reply()
    }

    /// The answer; nothing else may come before it.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let reply = self.exchange(method, params);
        let mut messages = reply.messages();
        assert_eq!((messages.len(), &messages[0]["id"]), (1, &json!(self.last)), "{reply:?}");
        messages.remove(0)
    }

    /// The text of a tool's answer.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }
}
