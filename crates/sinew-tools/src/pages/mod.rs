//! Web pages: the client that fetches them, and a cache of recent pages.

mod address;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sinew_llm::fetch::FetchedPage;
use sinew_llm::http::{AddressFilter, HttpClient, HttpConfig};

use crate::options::HostOptions;

/// The time for which a page is cached, so that the next part of it needs no request.
const KEPT: Duration = Duration::from_secs(600);
const MOST_KEPT: usize = 16;

/// Recently fetched pages.
#[derive(Default)]
pub(crate) struct Pages {
    pages: Mutex<VecDeque<(String, Instant, Arc<FetchedPage>)>>,
}

impl Pages {
    pub(crate) fn get(&self, url: &str) -> Option<Arc<FetchedPage>> {
        let pages = self.pages.lock();
        let page = pages.iter().find(|(other, at, _)| other == url && at.elapsed() < KEPT);
        page.map(|(_, _, page)| Arc::clone(page))
    }

    pub(crate) fn put(&self, url: &str, page: &Arc<FetchedPage>) {
        let mut pages = self.pages.lock();
        pages.retain(|(other, at, _)| other != url && at.elapsed() < KEPT);
        pages.push_back((url.to_string(), Instant::now(), Arc::clone(page)));
        while pages.len() > MOST_KEPT {
            pages.pop_front();
        }
    }
}

/// Creates a client that connects to no private address, except those of hosts in the settings. The address is checked
/// at connection time, so a name that later resolves to another address is checked again.
pub(crate) fn client(options: &HostOptions) -> HttpClient {
    let allowed = options.settings.fetch_allow_private.clone();
    let filter: AddressFilter = Arc::new(move |host: &str, address: IpAddr| {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if !address::is_private(address) || allowed.iter().any(|name| name.eq_ignore_ascii_case(host)) {
            return Ok(());
        }
        Err(format!("Refused: {host} resolves to a private address. Allow it with fetch.allowPrivate."))
    });
    HttpClient::new(HttpConfig { address_filter: Some(filter), ..options.http.clone() })
}
