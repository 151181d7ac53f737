//! The states of an agent and the transitions between them.
//!
//! ```text
//!            Begin              Compact
//!   Idle ─────────▶ Active(a) ─────────▶ Compacting(a)
//!    ▲ ▲            │  ▲  ▲  │               │
//!    │ └── Finish ──┘  │  │  │ WaitForRetry  │ Resume
//!    │ Withdraw        │  │  ▼               │
//!   Reserved ── Claim ─┘  │ Retrying         │
//!    ▲                    └─┴── Resume ──────┘
//!    └ Reserve ── Idle          Close: every state ──▶ Closed
//! ```

use std::fmt;

use sinew::base::{Error, ErrorCode};

/// The kind of an activity. Only one runs at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    /// Answers a prompt and everything that follows from it.
    Run,
    /// Changes, copies or summarizes the session at the user's request.
    Maintenance,
}

/// The state of an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum State {
    /// No activity is running.
    #[default]
    Idle,
    /// No activity is running, and the next one is reserved for a caller that waited.
    Reserved,
    /// An activity is running.
    Active(Activity),
    /// The running activity compacts the context.
    Compacting(Activity),
    /// The run waits before it retries a request.
    Retrying,
    /// The session is closed: no activity can start.
    Closed,
}

/// A transition between states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Move {
    /// An activity starts.
    Begin(Activity),
    /// The next activity is reserved for a waiting caller.
    Reserve,
    /// The waiting caller starts its activity.
    Claim(Activity),
    /// The waiting caller gave up.
    Withdraw,
    /// The activity starts a compaction.
    Compact,
    /// The run starts to wait for a retry.
    WaitForRetry,
    /// The activity continues after a compaction or a wait.
    Resume,
    /// The activity ends.
    Finish,
    /// The session is closed.
    Close,
}

/// A transition that the state does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IllegalMove {
    pub(super) state: State,
    pub(super) attempted: Move,
}

impl State {
    /// Returns the state after a transition.
    ///
    /// An activity that is running when the session is closed continues to its end; its transitions then change
    /// nothing.
    ///
    /// # Errors
    /// Returns an error if the state does not allow the transition.
    pub(super) fn after(self, attempted: Move) -> Result<State, IllegalMove> {
        match (self, attempted) {
            (State::Idle, Move::Begin(activity)) | (State::Reserved, Move::Claim(activity)) => {
                Ok(State::Active(activity))
            }
            (State::Idle, Move::Reserve) => Ok(State::Reserved),
            (State::Reserved, Move::Withdraw) => Ok(State::Idle),
            (State::Active(activity), Move::Compact) => Ok(State::Compacting(activity)),
            (State::Active(Activity::Run), Move::WaitForRetry) => Ok(State::Retrying),
            (State::Compacting(activity), Move::Resume) => Ok(State::Active(activity)),
            (State::Retrying, Move::Resume) => Ok(State::Active(Activity::Run)),
            (State::Active(_), Move::Finish) => Ok(State::Idle),
            (
                State::Idle | State::Reserved | State::Active(_) | State::Compacting(_) | State::Retrying,
                Move::Close,
            ) => Ok(State::Closed),
            (State::Closed, Move::Compact | Move::WaitForRetry | Move::Resume | Move::Finish | Move::Withdraw) => {
                Ok(State::Closed)
            }
            (state, attempted) => Err(IllegalMove { state, attempted }),
        }
    }
}

impl fmt::Display for IllegalMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.state, self.attempted) {
            (State::Closed, _) => write!(f, "The session is closed: open it again to continue"),
            (State::Active(_) | State::Compacting(_) | State::Retrying | State::Reserved, Move::Begin(_)) => {
                write!(f, "Agent is already processing: wait until it is done, or abort it")
            }
            (state, attempted) => write!(f, "an agent in the state {state:?} cannot make the move {attempted:?}"),
        }
    }
}

impl From<IllegalMove> for Error {
    fn from(illegal: IllegalMove) -> Error {
        Error::new(ErrorCode::InvalidState, illegal.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::Activity::{Maintenance, Run};
    use super::*;

    const STATES: [State; 8] = [
        State::Idle,
        State::Reserved,
        State::Active(Run),
        State::Active(Maintenance),
        State::Compacting(Run),
        State::Compacting(Maintenance),
        State::Retrying,
        State::Closed,
    ];
    const MOVES: [Move; 11] = [
        Move::Begin(Run),
        Move::Begin(Maintenance),
        Move::Reserve,
        Move::Claim(Run),
        Move::Claim(Maintenance),
        Move::Withdraw,
        Move::Compact,
        Move::WaitForRetry,
        Move::Resume,
        Move::Finish,
        Move::Close,
    ];

    /// Checks every legal transition of a state; all others must be errors that name both.
    #[track_caller]
    fn check(state: State, legal: &[(Move, State)]) {
        for attempted in MOVES {
            let expected = legal.iter().find(|(allowed, _)| *allowed == attempted).map(|(_, next)| *next);
            assert_eq!(state.after(attempted), expected.ok_or(IllegalMove { state, attempted }), "{attempted:?}");
        }
    }

    #[test]
    fn an_idle_agent_begins_reserves_or_closes() {
        check(
            State::Idle,
            &[
                (Move::Begin(Run), State::Active(Run)),
                (Move::Begin(Maintenance), State::Active(Maintenance)),
                (Move::Reserve, State::Reserved),
                (Move::Close, State::Closed),
            ],
        );
    }

    #[test]
    fn a_reserved_agent_only_starts_for_the_waiting_caller() {
        check(
            State::Reserved,
            &[
                (Move::Claim(Run), State::Active(Run)),
                (Move::Claim(Maintenance), State::Active(Maintenance)),
                (Move::Withdraw, State::Idle),
                (Move::Close, State::Closed),
            ],
        );
    }

    #[test]
    fn a_run_compacts_retries_and_finishes() {
        check(
            State::Active(Run),
            &[
                (Move::Compact, State::Compacting(Run)),
                (Move::WaitForRetry, State::Retrying),
                (Move::Finish, State::Idle),
                (Move::Close, State::Closed),
            ],
        );
        check(State::Compacting(Run), &[(Move::Resume, State::Active(Run)), (Move::Close, State::Closed)]);
        check(State::Retrying, &[(Move::Resume, State::Active(Run)), (Move::Close, State::Closed)]);
    }

    #[test]
    fn maintenance_compacts_and_finishes_without_a_retry() {
        check(
            State::Active(Maintenance),
            &[
                (Move::Compact, State::Compacting(Maintenance)),
                (Move::Finish, State::Idle),
                (Move::Close, State::Closed),
            ],
        );
        check(
            State::Compacting(Maintenance),
            &[(Move::Resume, State::Active(Maintenance)), (Move::Close, State::Closed)],
        );
    }

    #[test]
    fn a_closed_agent_starts_nothing_and_lets_the_last_activity_end() {
        let stays = [Move::Withdraw, Move::Compact, Move::WaitForRetry, Move::Resume, Move::Finish];
        check(State::Closed, &stays.map(|ending| (ending, State::Closed)));
    }

    #[test]
    fn every_state_leads_back_to_idle_or_was_closed() {
        for state in STATES {
            let mut resolved = vec![state];
            let mut at = 0;
            while at < resolved.len() {
                let next: Vec<State> =
                    MOVES.iter().filter_map(|attempted| resolved[at].after(*attempted).ok()).collect();
                at += 1;
                next.into_iter().for_each(|state| {
                    if !resolved.contains(&state) {
                        resolved.push(state);
                    }
                });
            }
            assert_eq!(resolved.contains(&State::Idle), state != State::Closed, "{state:?}");
            assert!(resolved.contains(&State::Closed), "{state:?}");
        }
    }

    #[test]
    fn an_illegal_move_is_an_error_that_says_what_to_do() {
        #[track_caller]
        fn check(state: State, attempted: Move, part: &str) {
            let error = Error::from(state.after(attempted).unwrap_err());
            assert!(error.to_string().contains(part), "{error}");
            assert_eq!(error.code(), ErrorCode::InvalidState);
        }
        check(State::Active(Run), Move::Begin(Run), "wait until it is done, or abort it");
        check(State::Reserved, Move::Begin(Maintenance), "already processing");
        check(State::Closed, Move::Begin(Run), "is closed");
        check(State::Idle, Move::Finish, "Idle");
    }
}
