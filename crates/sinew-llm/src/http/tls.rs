//! TLS with ring.

use std::sync::Arc;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, InvalidMessage, RootCertStore};
use tokio_rustls::TlsConnector;
use url::Host;

use super::connection::Io;
use super::error::{HttpError, HttpErrorKind};

/// The trusted certificates.
#[derive(Debug, Clone, Default)]
pub enum Roots {
    /// The system's certificates; if it has none, those that browsers trust.
    #[default]
    System,
    /// Only these certificates, in DER.
    Only(Vec<Vec<u8>>),
}

/// Creates the configuration of all connections that trust `roots`. Reads the system's certificates, which needs some
/// milliseconds.
pub(super) fn client_config(roots: &Roots) -> Result<Arc<ClientConfig>, HttpError> {
    let mut store = RootCertStore::empty();
    match roots {
        Roots::System => {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if store.is_empty() {
                store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
            }
        }
        Roots::Only(list) => {
            store.add_parsable_certificates(list.iter().map(|der| CertificateDer::from(der.clone())));
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| HttpError::new(HttpErrorKind::Request, format!("set up TLS: {error}")))?;
    let mut config = builder.with_root_certificates(store).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Negotiates TLS with `host` over `io`.
pub(super) async fn wrap(
    config: Arc<ClientConfig>,
    io: Box<dyn Io>,
    host: &Host<String>,
) -> Result<Box<dyn Io>, HttpError> {
    let name = match host {
        Host::Domain(name) => ServerName::try_from(name.clone()).map_err(|_| {
            HttpError::new(HttpErrorKind::Request, format!("connect to \"{name}\": not a valid server name"))
        })?,
        Host::Ipv4(ip) => ServerName::from(std::net::IpAddr::V4(*ip)),
        Host::Ipv6(ip) => ServerName::from(std::net::IpAddr::V6(*ip)),
    };
    match TlsConnector::from(config).connect(name, io).await {
        Ok(stream) => Ok(Box::new(stream)),
        Err(error) => {
            let cause = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
            let kind = match cause {
                Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented) => {
                    HttpErrorKind::Certificate
                }
                _ => HttpErrorKind::Network,
            };
            let way_out = match cause {
                Some(rustls::Error::InvalidCertificate(
                    CertificateError::UnknownIssuer | CertificateError::Other(_),
                )) => "; set SSL_CERT_FILE to a file of certificates to trust",
                Some(rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType)) => {
                    "; if the server does not use TLS, change its URL to http://"
                }
                _ => "",
            };
            Err(HttpError::new(kind, format!("TLS handshake with {host}: {error}{way_out}")))
        }
    }
}
