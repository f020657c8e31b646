//! What an error is about.
//!
//! May touch: nothing else. No text is made here.

use super::Error;

/// What an error is about, in the words of whoever will read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Subject {
    /// Nothing that may be repeated.
    #[default]
    Unnamed,
    /// The path as the caller typed it.
    Typed(String),
    /// The second path of an operation with two, until it is known how that was typed.
    Target,
    /// A root, by its name.
    Root(String),
}

impl Error {
    pub(crate) fn on(mut self, subject: Subject) -> Self {
        self.0.subject = subject;
        self
    }

    /// For an operation with two paths: about the source, unless it was said to be about the target.
    pub(crate) fn on_end(self, source: Subject, target: Subject) -> Self {
        let subject = if self.is_at_target() { target } else { source };
        self.on(subject)
    }

    /// Whether it was said to be about the target.
    pub(crate) fn is_at_target(&self) -> bool {
        self.0.subject == Subject::Target
    }

    /// The same refusal, of what is at the target.
    pub(crate) fn at_target(self) -> Self {
        self.on(Subject::Target)
    }
}
