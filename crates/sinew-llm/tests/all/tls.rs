//! Tests of TLS over a real socket: which certificates are trusted.

use std::sync::Arc;

use bytes::Bytes;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sinew_llm::http::{HttpClient, HttpConfig, HttpError, HttpErrorKind, HttpRequest, Proxies, Roots};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

const AUTHORITY: &[u8] = include_bytes!("tls/ca.der");
const CERTIFICATE: &[u8] = include_bytes!("tls/leaf.der");
const KEY: &[u8] = include_bytes!("tls/leaf.key.der");

/// Answers each connection over TLS with `ok`.
async fn server() -> u16 {
    let key = PrivateKeyDer::try_from(KEY.to_vec()).unwrap();
    let builder = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = builder.with_single_cert(vec![CertificateDer::from(CERTIFICATE.to_vec())], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            // A client that does not trust the certificate disconnects; the next one may trust it.
            if let Ok(mut stream) = acceptor.accept(socket).await {
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
                let _ = stream.shutdown().await;
            }
        }
    });
    port
}

/// A proxy that forwards every connection to this machine.
async fn proxy() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(client.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        let port = head.split([':', ' ']).find_map(|word| word.parse::<u16>().ok()).unwrap();
        let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.unwrap();
        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
    });
    port
}

async fn get(url: String, config: HttpConfig) -> Result<Vec<u8>, HttpError> {
    let request =
        HttpRequest { method: http::Method::GET, url: url.parse().unwrap(), headers: Vec::new(), body: Bytes::new() };
    let mut answer = HttpClient::new(config).send(request).await?;
    Ok(answer.body.read_limited(100).await?.0)
}

fn trusting() -> HttpConfig {
    HttpConfig { roots: Roots::Only(vec![AUTHORITY.to_vec()]), ..HttpConfig::default() }
}

#[tokio::test]
async fn accepts_a_trusted_server() {
    let port = server().await;
    assert_eq!(get(format!("https://localhost:{port}/"), trusting()).await.unwrap(), b"ok");
}

#[tokio::test]
async fn rejects_untrusted_certificates_and_other_names() {
    let port = server().await;
    let table = [
        ("localhost", HttpConfig::default(), "set SSL_CERT_FILE to a file of certificates to trust"),
        ("127.0.0.1", trusting(), ""),
    ];
    for (host, config, way_out) in table {
        let error = get(format!("https://{host}:{port}/"), config).await.unwrap_err();
        assert_eq!(error.kind, HttpErrorKind::Certificate, "{error}");
        assert!(error.message.starts_with(&format!("TLS handshake with {host}: ")), "{error}");
        assert!(error.message.ends_with(way_out), "{error}");
    }
}

#[tokio::test]
async fn names_a_server_without_tls_and_an_unreachable_proxy() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        // Stays open until the other side has read and closed the connection.
        let _ = socket.read_to_end(&mut Vec::new()).await;
    });
    let error = get(format!("https://127.0.0.1:{port}/"), trusting()).await.unwrap_err();
    assert_eq!(error.kind, HttpErrorKind::Network, "{error}");
    assert!(error.message.ends_with("if the server does not use TLS, change its URL to http://"), "{error}");
    let proxies = Proxies { all: Some("http://user:secret@127.0.0.1:1".into()), ..Proxies::default() };
    for address in ["http://far.test/", "https://far.test/"] {
        let config = HttpConfig { proxies: proxies.clone(), ..HttpConfig::default() };
        let error = get(address.into(), config).await.unwrap_err();
        assert_eq!(error.kind, HttpErrorKind::Network, "{error}");
        assert!(error.message.starts_with("reach the proxy: connect to 127.0.0.1:1: "), "{error}");
        assert!(!error.message.contains("secret") && !error.message.contains("os error"), "{error}");
    }
}

#[tokio::test]
async fn uses_tls_through_a_tunnel() {
    let (far, near) = (server().await, proxy().await);
    let proxies = Proxies { https: Some(format!("127.0.0.1:{near}")), ..Proxies::default() };
    // The certificate is for another name, so only the server behind the tunnel can have sent it.
    let error = get(format!("https://far.test:{far}/"), HttpConfig { proxies, ..trusting() }).await.unwrap_err();
    assert_eq!(error.kind, HttpErrorKind::Certificate, "{error}");
}
