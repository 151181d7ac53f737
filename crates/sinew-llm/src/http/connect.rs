//! Establishes connections: name resolution, addresses, proxy, TLS.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use url::{Host, Url};

use super::connection::{Io, Route};
use super::error::{HttpError, HttpErrorKind, without_number};
use super::{HttpClient, proxy, tls};

/// How long to wait for one address before the next one is tried as well.
const NEXT_ADDRESS_AFTER: Duration = Duration::from_millis(250);

/// The maximum size of a proxy's answer to CONNECT.
const CONNECT_ANSWER_LIMIT: usize = 16 * 1024;

/// The maximum time for which sent bytes may stay unacknowledged, in ms. If the network drops a kept connection (after
/// suspend, or when a router restarts), nothing is received at all, and the client would otherwise wait as it does for
/// a slow model.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED_LIMIT: u32 = 30_000;

/// Connects to the address of `url`, through `proxy` if there is one.
pub(super) async fn connect(client: &HttpClient, url: &Url, proxy: Option<Url>) -> Result<Route, HttpError> {
    let secure = match url.scheme() {
        "https" => true,
        "http" => false,
        other => {
            let text = format!(
                "connect to \"{}\": the scheme \"{other}\" is neither http nor https",
                url.host_str().unwrap_or_default()
            );
            return Err(HttpError::new(HttpErrorKind::Request, text));
        }
    };
    let (host, port) = endpoint(url)?;
    let Some(proxy) = proxy else {
        let io = dial(client, &host, port, true).await?;
        let io = if secure { tls::wrap(client.tls()?, io, &host).await? } else { io };
        return Ok(Route { io, absolute: false, proxy_auth: None });
    };
    // The proxy connects, so its own name resolution cannot be checked, but ours can.
    if client.config().address_filter.is_some()
        && let Ok(addresses) = resolve(&host, port).await
    {
        check(client, &host, &addresses)?;
    }
    let (proxy_host, proxy_port) = endpoint(&proxy)?;
    let named = |error: HttpError| HttpError::new(error.kind, format!("reach the proxy: {}", error.message));
    let mut io = dial(client, &proxy_host, proxy_port, false).await.map_err(named)?;
    if proxy.scheme() == "https" {
        io = tls::wrap(client.tls()?, io, &proxy_host).await.map_err(named)?;
    }
    let proxy_auth = proxy::authorization(&proxy);
    if !secure {
        return Ok(Route { io, absolute: true, proxy_auth });
    }
    let auth = proxy_auth.as_ref().and_then(|value| value.to_str().ok());
    tunnel(&mut io, &host, port, auth).await?;
    let io = tls::wrap(client.tls()?, io, &host).await?;
    Ok(Route { io, absolute: false, proxy_auth: None })
}

fn endpoint(url: &Url) -> Result<(Host<String>, u16), HttpError> {
    let host = url.host().map(|host| host.to_owned());
    match (host, url.port_or_known_default()) {
        (Some(host), Some(port)) => Ok((host, port)),
        _ => Err(HttpError::new(HttpErrorKind::Request, "connect: the address has no host")),
    }
}

async fn resolve(host: &Host<String>, port: u16) -> Result<Vec<SocketAddr>, HttpError> {
    let found = match host {
        Host::Ipv4(ip) => return Ok(vec![(*ip, port).into()]),
        Host::Ipv6(ip) => return Ok(vec![(*ip, port).into()]),
        Host::Domain(name) => tokio::net::lookup_host((name.as_str(), port)).await,
    };
    let fail = |cause: String| HttpError::new(HttpErrorKind::Network, format!("resolve \"{host}\": {cause}"));
    let found: Vec<SocketAddr> = found.map_err(|error| fail(plain(&error)))?.collect();
    if found.is_empty() { Err(fail("no address".to_string())) } else { Ok(found) }
}

/// All addresses must be allowed: if one address of a name is forbidden, the others are not trusted either.
fn check(client: &HttpClient, host: &Host<String>, addresses: &[SocketAddr]) -> Result<(), HttpError> {
    let Some(filter) = &client.config().address_filter else {
        return Ok(());
    };
    let name = host.to_string();
    addresses
        .iter()
        .try_for_each(|address| filter(&name, canonical(address.ip())))
        .map_err(|text| HttpError::new(HttpErrorKind::Refused, text))
}

/// Converts an IPv4-mapped IPv6 address to IPv4.
fn canonical(ip: IpAddr) -> IpAddr {
    ip.to_canonical()
}

/// Connects to the first address that answers, starting them one after another.
async fn dial(client: &HttpClient, host: &Host<String>, port: u16, filtered: bool) -> Result<Box<dyn Io>, HttpError> {
    let addresses = resolve(host, port).await?;
    if filtered {
        check(client, host, &addresses)?;
    }
    let mut waiting = addresses.into_iter();
    let mut running = JoinSet::new();
    let mut failure = None;
    loop {
        if let Some(address) = waiting.next() {
            running.spawn(TcpStream::connect(address));
        } else if running.is_empty() {
            let cause = failure.map_or_else(|| "no address".to_string(), |error| plain(&error));
            return Err(HttpError::new(HttpErrorKind::Network, format!("connect to {host}:{port}: {cause}")));
        }
        let pause = if waiting.len() > 0 { NEXT_ADDRESS_AFTER } else { Duration::from_secs(u64::from(u32::MAX)) };
        tokio::select! {
            biased;
            done = running.join_next() => match done {
                Some(Ok(Ok(stream))) => {
                    tune(&stream);
                    return Ok(Box::new(stream));
                }
                Some(Ok(Err(error))) => failure = Some(error),
                Some(Err(_)) | None => {}
            },
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Sets options for low latency and for detecting lost connections. Ignores errors, because a connection works without
/// them.
pub(super) fn tune(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    #[cfg(target_os = "linux")]
    let _ = rustix::net::sockopt::set_tcp_user_timeout(stream, UNACKNOWLEDGED_LIMIT);
}

/// Requests a connection to `host` from a proxy.
async fn tunnel(io: &mut Box<dyn Io>, host: &Host<String>, port: u16, auth: Option<&str>) -> Result<(), HttpError> {
    let auth = auth.map(|value| format!("Proxy-Authorization: {value}\r\n")).unwrap_or_default();
    let request = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{auth}\r\n");
    let broken = |error: io::Error| {
        HttpError::new(HttpErrorKind::Network, format!("connect to {host}:{port} through the proxy: {}", plain(&error)))
    };
    io.write_all(request.as_bytes()).await.map_err(broken)?;
    io.flush().await.map_err(broken)?;
    let mut answer = Vec::new();
    // One byte at a time, because the following bytes belong to TLS.
    while !answer.ends_with(b"\r\n\r\n") {
        if answer.len() >= CONNECT_ANSWER_LIMIT {
            return Err(HttpError::new(HttpErrorKind::Protocol, "connect through the proxy: its answer is too long"));
        }
        answer.push(io.read_u8().await.map_err(broken)?);
    }
    let line = answer.split(|&b| b == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let status = line.split(' ').nth(1).unwrap_or_default();
    if line.starts_with("HTTP/1.") && status.starts_with('2') && status.len() == 3 {
        return Ok(());
    }
    if status == "407" {
        let text = "it requires another user and password (407); set them in its URL: http://USER:PASSWORD@HOST";
        return Err(HttpError::new(
            HttpErrorKind::Request,
            format!("connect to {host}:{port} through the proxy: {text}"),
        ));
    }
    Err(HttpError::new(
        HttpErrorKind::Network,
        format!("connect to {host}:{port} through the proxy: it answered \"{line}\""),
    ))
}

fn plain(cause: &io::Error) -> String {
    without_number(cause.to_string())
}
