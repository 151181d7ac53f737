//! Tests the agent with a model behind a real socket, in each of the protocols. The servers reject the requests that
//! the real ones reject.

mod damaged_sessions;
mod malformed_answers;
mod next_prompt;
mod remote_summary;
mod replies;
mod request_observers;
mod test_env;
mod thinking;
