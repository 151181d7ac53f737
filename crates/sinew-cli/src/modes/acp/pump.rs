//! The events of one session on their way to the editor, in their order, and in order with what is sent beside them.

use agent_client_protocol_schema::v1 as acp;
use sinew_agent::agent::Subscriber;
use tokio::sync::{mpsc, oneshot};

use super::map::Mapper;
use super::wire::Wire;

/// Words to the pump.
enum Word {
    /// Everything that came about before is sent: say so.
    CaughtUp(oneshot::Sender<()>),
    /// The turn is over for the editor, however long the run still takes: calls end, and events are left aside.
    Mute(oneshot::Sender<()>),
    /// Events that come from now on count again.
    Unmute(oneshot::Sender<()>),
}

/// Speaks to the pump of a session.
#[derive(Clone)]
pub(super) struct PumpHandle(mpsc::UnboundedSender<Word>);

impl PumpHandle {
    /// Resolves once every event so far is sent, or the session is closed.
    pub(super) async fn caught_up(&self) {
        self.tell(Word::CaughtUp).await;
    }

    /// Ends open calls and leaves events aside until [`PumpHandle::unmute`].
    pub(super) async fn mute(&self) {
        self.tell(Word::Mute).await;
    }

    /// Lets the events that come from now on count again.
    pub(super) async fn unmute(&self) {
        self.tell(Word::Unmute).await;
    }

    async fn tell(&self, word: impl FnOnce(oneshot::Sender<()>) -> Word) {
        let (send, done) = oneshot::channel();
        if self.0.send(word(send)).is_ok() {
            // A pump that ends meanwhile has sent what there was.
            let _ = done.await;
        }
    }
}

/// Starts the pump of a session: it ends with the session's events.
pub(super) fn start(wire: Wire, session: acp::SessionId, mut events: Subscriber, mut mapper: Mapper) -> PumpHandle {
    let (send, mut words) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut muted = false;
        loop {
            tokio::select! {
                // What happened first goes first.
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
                        // Who waited may have gone.
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
