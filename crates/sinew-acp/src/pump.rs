//! Sends the events of a session to the editor, in order with the other messages about the session.

use agent_client_protocol_schema::v1 as acp;
use sinew_agent::agent::Subscriber;
use tokio::sync::{mpsc, oneshot};

use super::map::Mapper;
use super::wire::Wire;

/// A request to the pump.
enum Word {
    /// Reports when all earlier events are sent.
    CaughtUp(oneshot::Sender<()>),
    /// Ends the turn for the editor although the run may continue: ends the open calls, and discards events.
    Mute(oneshot::Sender<()>),
    /// Stops discarding new events.
    Unmute(oneshot::Sender<()>),
}

/// Sends requests to the pump of a session.
#[derive(Clone)]
pub(super) struct PumpHandle(mpsc::UnboundedSender<Word>);

impl PumpHandle {
    /// Resolves when every event so far is sent, or the session is closed.
    pub(super) async fn caught_up(&self) {
        self.tell(Word::CaughtUp).await;
    }

    /// Ends open calls and discards events until [`PumpHandle::unmute`].
    pub(super) async fn mute(&self) {
        self.tell(Word::Mute).await;
    }

    /// Stops discarding new events.
    pub(super) async fn unmute(&self) {
        self.tell(Word::Unmute).await;
    }

    async fn tell(&self, word: impl FnOnce(oneshot::Sender<()>) -> Word) {
        let (send, done) = oneshot::channel();
        if self.0.send(word(send)).is_ok() {
            // If the pump ended meanwhile, it has sent all events.
            let _ = done.await;
        }
    }
}

/// Starts the pump of a session. It ends with the session's events.
pub(super) fn start(wire: Wire, session: acp::SessionId, mut events: Subscriber, mut mapper: Mapper) -> PumpHandle {
    let (send, mut words) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut muted = false;
        loop {
            tokio::select! {
                // Events are sent before requests are answered.
                biased;
                event = events.recv() => {
                    let Some(event) = event else { return };
                    let updates = mapper.event(&event);
                    if !muted {
                        send_all(&wire, &session, updates).await;
                    }
                }
                Some(word) = words.recv() => match word {
                    Word::CaughtUp(done) => {
                        // The receiver may have been dropped.
                        let _ = done.send(());
                    }
                    Word::Mute(done) => {
                        muted = true;
                        send_all(&wire, &session, mapper.close()).await;
                        let _ = done.send(());
                    }
                    Word::Unmute(done) => {
                        muted = false;
                        let _ = done.send(());
                    }
                },
            }
        }
    });
    PumpHandle(send)
}

async fn send_all(wire: &Wire, session: &acp::SessionId, updates: Vec<acp::SessionUpdate>) {
    for update in updates {
        wire.update(session, update).await;
    }
}
