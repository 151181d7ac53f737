//! File names that are reserved on Windows, or that only special calls can create, as files which no other program can
//! open.

/// Device names, which are reserved with any extension or trailing blanks. Ports are numbered 1 to 9, also with
/// superscript digits.
const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];
const PORTS: [&str; 2] = ["COM", "LPT"];
const PORT_NUMBERS: &str = "123456789\u{b9}\u{b2}\u{b3}";

/// Returns the reason why a file name is not usable on Windows, with a suggestion; `None` if it is.
pub(super) fn fault(name: &str) -> Option<String> {
    let stem = name.split(['.', ':']).next().unwrap_or_default().trim_end_matches(' ').to_uppercase();
    let is_port = PORTS.iter().filter_map(|port| stem.strip_prefix(port)).any(|rest| {
        let mut rest = rest.chars();
        rest.next().is_some_and(|digit| PORT_NUMBERS.contains(digit)) && rest.next().is_none()
    });
    if is_port || DEVICES.contains(&stem.as_str()) {
        return Some(format!("{name:?} is a reserved device name on Windows: choose another name"));
    }
    if name.ends_with(['.', ' ']) {
        let better = name.trim_end_matches(['.', ' ']);
        return Some(format!("{name:?} ends with a dot or a space, which Windows removes: write {better:?}"));
    }
    let bad = name.chars().find(|char| "<>:\"|?*".contains(*char) || char.is_control())?;
    Some(format!("{name:?} contains {bad:?}, which Windows does not allow in names: choose another name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_names_that_windows_rejects_on_every_system() {
        let table = include_str!("../../sinew-search/tests/all/windows_paths.json");
        let table: serde_json::Value = serde_json::from_str(table).unwrap();
        for row in table["names"].as_array().unwrap() {
            let name = row[0].as_str().unwrap();
            match (fault(name), row[1].as_str()) {
                (Some(why), Some(expect)) => assert!(why.contains(expect) && why.contains(": "), "{name:?}: {why}"),
                (found, expect) => assert_eq!(found.as_deref(), expect, "{name:?}"),
            }
        }
    }
}
