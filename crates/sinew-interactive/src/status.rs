//! The status row: the current activity on the left, and facts about the session on the right.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use sinew_tui::{Attrs, Color, Line, Row, Style};

use super::blocks::{DIM, NOTICE, duration};

/// The time for which a notice replaces the activity.
pub(super) const NOTICE_TIME: Duration = Duration::from_secs(3);

/// The facts on the right, most important first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// The mode of the session; empty for the default mode.
    pub(super) mode: String,
    pub(super) context: Option<u64>,
    pub(super) model: String,
    pub(super) cost: String,
    pub(super) branch: String,
    pub(super) folder: String,
    pub(super) title: String,
    /// The input of the user's status command.
    pub(super) told: Value,
    /// The output of that command, which replaces all other facts.
    pub(super) written: Option<Line>,
}

/// The activity on the left.
pub(super) struct Activity<'a> {
    /// The start of the active run; `None` if there is none.
    pub(super) since: Option<Instant>,
    /// A word for the activity of the run.
    pub(super) what: &'a str,
    /// True while the session is loaded.
    pub(super) is_reading: bool,
    pub(super) queued: usize,
    /// The interval in seconds at which the elapsed time is updated.
    pub(super) step: u64,
    /// The mode of the editor's keys; empty if they have no modes.
    pub(super) keys: String,
    pub(super) notice: Option<&'a str>,
}

/// Lays out the status. If there are two rows, the second one contains the location: branch, directory and title.
pub(super) fn rows(activity: &Activity<'_>, facts: &Facts, width: usize, two: bool, now: Instant) -> Vec<Row> {
    if !two {
        return vec![row(activity, facts, width, now)];
    }
    let Facts { branch, folder, title, .. } = facts;
    let place = [branch, folder, title].map(String::as_str).into_iter().filter(|text| !text.is_empty());
    let second = Line::styled(&place.collect::<Vec<_>>().join(" · "), DIM).into_row(width);
    let facts = Facts { branch: String::new(), folder: String::new(), title: String::new(), ..facts.clone() };
    vec![row(activity, &facts, width, now), second]
}

/// Lays out one row. If there is not enough space, the last facts are omitted first.
fn row(activity: &Activity<'_>, facts: &Facts, width: usize, now: Instant) -> Row {
    let mut left = Line::new();
    match (activity.notice, activity.since) {
        (Some(notice), _) => left.push(notice, NOTICE),
        (None, Some(since)) => {
            let passed = now.saturating_duration_since(since).as_secs();
            let time = duration(Duration::from_secs(passed - passed % activity.step.max(1)));
            left.push(&format!("{} {time}", activity.what), Style::fg(Color::Named(6)))
        }
        (None, None) => left.push(if activity.is_reading { "reading the session" } else { "ready" }, DIM),
    };
    if activity.queued > 0 {
        left.push(&format!(" · {} queued", activity.queued), DIM);
    }
    if !activity.keys.is_empty() {
        left.push(&format!(" · {}", activity.keys), DIM);
    }
    let mut right = Line::new();
    for (text, style) in facts.parts() {
        let space = if right.width() == 0 { "" } else { " · " };
        let needed = left.width() + 2 + right.width() + sinew::term::visible_width(&format!("{space}{text}"), 1);
        if needed > width {
            break;
        }
        right.push(space, DIM);
        right.push(&text, style);
    }
    if let Some(written) = &facts.written {
        let room = width.saturating_sub(left.width() + 2);
        right = written.clone().into_row(room).to_line();
    }
    if right.width() > 0 {
        let gap = width.saturating_sub(left.width() + right.width());
        left.push(&" ".repeat(gap), Style::PLAIN);
        left.append(&right);
    }
    left.into_row(width)
}

impl Facts {
    fn parts(&self) -> impl Iterator<Item = (String, Style)> {
        let context = self.context.map(|percent| {
            let style = match percent {
                90.. => Style::fg(Color::Named(1)).with(Attrs::BOLD),
                70.. => NOTICE,
                _ => DIM,
            };
            (format!("{percent} %"), style)
        });
        let dim = |text: &String| (!text.is_empty()).then(|| (text.clone(), DIM));
        [
            dim(&self.mode),
            context,
            dim(&self.model),
            dim(&self.cost),
            dim(&self.branch),
            dim(&self.folder),
            dim(&self.title),
        ]
        .into_iter()
        .flatten()
    }
}

/// Returns the display name of a directory: `~` replaces the home directory.
pub(super) fn folder_name(folder: &str, home: Option<&Path>) -> String {
    match home.and_then(|home| Path::new(folder).strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".into(),
        Some(rest) => format!("~/{}", rest.display()),
        None => folder.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_row_fits_any_width() {
        let facts = Facts {
            mode: String::new(),
            context: Some(12),
            model: "anthropic/claude".into(),
            cost: "$0.12".into(),
            branch: "main".into(),
            folder: "~/project".into(),
            title: "A title".into(),
            ..Facts::default()
        };
        let now = Instant::now();
        for width in 20..=300 {
            for notice in [None, Some("a notice that is longer than many terminals are wide, so that it is cut")] {
                let activity = Activity {
                    since: Some(now),
                    what: "thinking",
                    is_reading: false,
                    queued: 2,
                    step: 1,
                    keys: String::new(),
                    notice,
                };
                for two in [false, true] {
                    let rows = rows(&activity, &facts, width, two, now);
                    assert!(rows.len() == 1 + usize::from(two));
                    assert!(rows.iter().all(|row| row.width() <= width), "{width}: {rows:?}");
                }
            }
        }
        let activity = Activity {
            since: None,
            what: "",
            is_reading: false,
            queued: 0,
            step: 1,
            keys: String::new(),
            notice: None,
        };
        for (width, right) in [
            (80, "12 % · anthropic/claude · $0.12 · main · ~/project · A title"),
            (66, "12 % · anthropic/claude · $0.12 · main · ~/project"),
            (42, "12 % · anthropic/claude · $0.12"),
            (20, "12 %"),
        ] {
            let row = row(&activity, &facts, width, now);
            assert_eq!(row.width(), width, "{:?}", row.text());
            assert!(
                row.text().starts_with("ready  ") && row.text().ends_with(&format!("  {right}")),
                "{:?}",
                row.text()
            );
        }
    }

    #[test]
    fn elapsed_time_moves_in_steps_and_the_second_row_shows_the_location() {
        let now = Instant::now();
        let facts = Facts { model: "m".into(), branch: "main".into(), folder: "~/p".into(), ..Facts::default() };
        let since = now.checked_sub(Duration::from_secs(27));
        for (step, expect) in [(1, "thinking 27s"), (10, "thinking 20s")] {
            let activity = Activity {
                since,
                what: "thinking",
                is_reading: false,
                queued: 0,
                step,
                keys: "visual 2".into(),
                notice: None,
            };
            let rows = rows(&activity, &facts, 40, true, now);
            assert!(
                rows[0].text().starts_with(&format!("{expect} · visual 2")) && rows[0].text().ends_with("  m"),
                "{rows:?}"
            );
            assert_eq!(rows[1].text(), "main · ~/p");
        }
    }

    #[test]
    fn folders_in_the_home_directory_begin_with_a_tilde() {
        let home = Some(Path::new("/home/ada"));
        for (folder, expect) in
            [("/home/ada/shop", "~/shop"), ("/home/ada", "~"), ("/home/adams", "/home/adams"), ("/srv", "/srv")]
        {
            assert_eq!(folder_name(folder, home), expect);
        }
        assert_eq!(folder_name("/home/ada", None), "/home/ada");
    }
}
