//! The spans of a restore, and the work of other sessions during them.

use std::sync::Arc;

use sinew_base::{Error, Result};

use crate::checkpoints::Checkpoints;
use crate::options::{CheckpointKind, RestoreOptions};
use crate::plan::{OtherWork, Span};
use crate::state::State;
use crate::stretches::{Claims, Stretches};

/// The start and the end of a span.
type Pair = (String, String);

impl Checkpoints {
    /// Returns the spans of a restore: those in the options, starting at the checkpoint, or one with all changes since
    /// then.
    pub(crate) fn spans(&self, id: &str, options: &RestoreOptions, now: &Arc<State>) -> Result<Vec<Span>> {
        let whole = |start, end| Span { start, end, claims: Claims::new(), others: Vec::new() };
        let Some(named) = &options.spans else {
            return Ok(match self.span_of_redo(id)? {
                Some((start, end)) => vec![whole(self.state(&start)?, self.state(&end)?)],
                None => vec![whole(self.state(id)?, Arc::clone(now))],
            });
        };
        let mut joined: Vec<Pair> = Vec::new();
        for (start, end) in sorted(named)? {
            let start = start.max(id.to_string());
            match joined.last_mut() {
                _ if end <= start => {}
                Some(last) if start <= last.1 => last.1 = end.max(last.1.clone()),
                _ => joined.push((start, end)),
            }
        }
        let stretches = self.store.as_ref().map(Stretches::read).unwrap_or_default();
        let sessions: Vec<String> =
            named.iter().flat_map(|(start, end)| self.authors(&stretches, start, end)).collect();
        joined.iter().map(|(start, end)| self.span(start, end, &stretches, &sessions)).collect()
    }

    /// Returns the sessions whose work a span is.
    fn authors(&self, stretches: &Stretches, start: &str, end: &str) -> Vec<String> {
        let sessions = stretches.sessions_of(start, end);
        if !sessions.is_empty() {
            return sessions.into_iter().collect();
        }
        // A scan after the end of the work has no stretch.
        let head = self.store.as_ref().ok().and_then(|store| store.head(end).ok());
        head.filter(|head| head.kind == CheckpointKind::End).and_then(|head| head.session).into_iter().collect()
    }

    fn span(&self, start: &str, end: &str, stretches: &Stretches, sessions: &[String]) -> Result<Span> {
        let mut claims = Claims::new();
        let mut others = Vec::new();
        for stretch in stretches.list() {
            let Some((first, last)) = stretch.within(start, end) else { continue };
            if stretch.session.as_ref().is_some_and(|session| sessions.contains(session)) {
                claims.extend(stretch.claims.iter().cloned());
                continue;
            }
            // A removed checkpoint leaves open what the session changed.
            let states = self.state(first).and_then(|first| Ok((first, self.state(last)?))).ok();
            others.push(OtherWork { states, is_edit: stretch.is_edit, claims: stretch.claims.clone() });
        }
        Ok(Span { start: self.state(start)?, end: self.state(end)?, claims, others })
    }

    /// Returns the span of the restore that a redo checkpoint belongs to.
    fn span_of_redo(&self, id: &str) -> Result<Option<(String, String)>> {
        let Ok(store) = &self.store else { return Ok(None) };
        if store.head(id)?.kind != CheckpointKind::Redo {
            return Ok(None);
        }
        let names = store.names().map_err(|cause| Error::io("checkpoints: failed to read the store", &cause))?;
        let later = names.iter().filter(|name| name.as_str() > id).filter_map(|name| store.head(name).ok());
        let end = later.filter(|head| head.redo.as_deref() == Some(id)).map(|head| head.id).next();
        Ok(end.map(|end| (id.to_string(), end)))
    }
}

/// Returns the named spans in chronological order.
fn sorted(named: &[Pair]) -> Result<Vec<Pair>> {
    if let Some((start, end)) = named.iter().find(|(start, end)| end < start) {
        return Err(Error::invalid(format!("restore: the span [{start:?}, {end:?}] ends before it starts")));
    }
    let mut named = named.to_vec();
    named.sort();
    Ok(named)
}
