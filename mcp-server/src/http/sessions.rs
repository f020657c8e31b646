//! The sessions of the era of `initialize`: how many there are, and which one goes when there is no room.
//!
//! A session that nobody asks ends by itself; clients that go without a word leave theirs behind. Where there are too many, the one that has
//! been quiet for longest makes room, unless even that one was busy a moment ago.
//!
//! May touch: nothing of the other rooms.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{SessionId, SessionManager};
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::Instant;

/// A session that was not asked for so long ends: a person may think for a while.
const IDLE: Duration = Duration::from_secs(60 * 60);

/// Those that are open, and when each was asked last.
#[derive(Debug)]
pub(crate) struct Sessions {
    manager: Arc<LocalSessionManager>,
    asked: Mutex<HashMap<SessionId, Instant>>,
    most: usize,
    quiet: Duration,
}

/// The place for one more session: nobody else gets one meanwhile.
#[derive(Debug)]
pub(crate) struct Room<'a>(MutexGuard<'a, HashMap<SessionId, Instant>>);

impl Room<'_> {
    pub(crate) fn take(mut self, id: &str) {
        self.0.insert(id.into(), Instant::now());
    }
}

impl Sessions {
    /// At most `most`; a session that was asked within `quiet` is not ended for another one.
    pub(crate) fn new(most: usize, quiet: Duration) -> Self {
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(IDLE);
        Self { manager: Arc::new(manager), asked: Mutex::default(), most, quiet }
    }

    /// What the protocol library keeps them in.
    pub(crate) fn manager(&self) -> Arc<LocalSessionManager> {
        Arc::clone(&self.manager)
    }

    pub(crate) async fn ask(&self, id: &str) {
        if let Some(asked) = self.asked.lock().await.get_mut(id) {
            *asked = Instant::now();
        }
    }

    /// Room for one more, or none.
    pub(crate) async fn room(&self) -> Option<Room<'_>> {
        let mut asked = self.asked.lock().await;
        let open: Vec<_> = self.manager.sessions.read().await.keys().cloned().collect();
        asked.retain(|id, _| open.contains(id));
        if open.len() >= self.most {
            let (id, at) = asked.iter().min_by_key(|(_, at)| **at)?;
            if at.elapsed() < self.quiet {
                return None;
            }
            let id = id.clone();
            asked.remove(&id);
            if self.manager.close_session(&id).await.is_err() {
                return None;
            }
        }
        Some(Room(asked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn open(sessions: &Sessions) -> Option<SessionId> {
        let room = sessions.room().await?;
        let (id, transport) = sessions.manager.create_session().await.unwrap();
        room.take(&id);
        // A session that is served; it ends with its manager's word.
        std::mem::forget(transport);
        Some(id)
    }

    /// Catches: sessions without a bound, a busy one that is ended for a new one, and clients that left and lock out all others.
    #[tokio::test(start_paused = true)]
    async fn the_quietest_makes_room() {
        let sessions = Sessions::new(2, Duration::from_secs(60));
        let (first, second) = (open(&sessions).await.unwrap(), open(&sessions).await.unwrap());
        assert!(open(&sessions).await.is_none());
        tokio::time::advance(Duration::from_secs(61)).await;
        sessions.ask(&first).await;
        let third = open(&sessions).await.unwrap();
        assert!(open(&sessions).await.is_none());
        let mut left: Vec<_> = sessions.manager.sessions.read().await.keys().cloned().collect();
        let mut expected = vec![first.clone(), third];
        left.sort();
        expected.sort();
        assert_eq!(left, expected);
        assert!(!left.contains(&second));
        sessions.manager.close_session(&first).await.unwrap();
        assert!(open(&sessions).await.is_some());
    }
}
