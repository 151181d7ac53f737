//! The error type of actions.

use sinew_llm::error::ErrorInfo;

use crate::failure::Failure;

/// An error of an action: one sentence for the user, and the details if a provider returned any.
#[derive(Debug)]
pub struct ControlError {
    /// The sentence.
    pub message: String,
    /// The details, if a provider returned the error.
    pub info: Option<ErrorInfo>,
}

impl From<String> for ControlError {
    fn from(message: String) -> ControlError {
        ControlError { message, info: None }
    }
}

impl From<&str> for ControlError {
    fn from(message: &str) -> ControlError {
        message.to_string().into()
    }
}

impl From<sinew::base::Error> for ControlError {
    fn from(error: sinew::base::Error) -> ControlError {
        error.message().into()
    }
}

impl From<ErrorInfo> for ControlError {
    fn from(info: ErrorInfo) -> ControlError {
        ControlError { message: info.message.clone(), info: Some(info) }
    }
}

impl From<Failure> for ControlError {
    fn from(failure: Failure) -> ControlError {
        failure.message.into()
    }
}
