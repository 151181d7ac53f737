//! The demo: a separate process in a temporary directory, with real tools and a scripted model.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::Command;

/// The prompt of the demo.
const PROMPT: &str = "The total of the shopping list is wrong. Find out why and fix it.";

/// The files, by their path in the directory.
const FILES: &[(&str, &str)] = &[
    ("script.jsonl", include_str!("demo/script.jsonl")),
    ("home/agent/settings.json", include_str!("demo/settings.json")),
    ("shop/prices.txt", include_str!("demo/prices.txt")),
    ("shop/total.sh", include_str!("demo/total.sh")),
    ("shop/test.sh", include_str!("demo/test.sh")),
];

/// A prepared demo; dropping it deletes its directory.
pub(super) struct Demo {
    folder: PathBuf,
}

impl Demo {
    /// Writes the files of the demo to a directory that only the user can read. `number` makes its name unique.
    ///
    /// # Errors
    /// Returns an error if a temporary file cannot be written.
    pub(super) fn prepare(number: u64) -> io::Result<Demo> {
        let folder = std::env::temp_dir().join(format!("sinew-demo-{number:016x}"));
        fs::DirBuilder::new().mode(0o700).create(&folder)?;
        let demo = Demo { folder };
        for (name, text) in FILES {
            let path = demo.folder.join(name);
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(path, text)?;
        }
        Ok(demo)
    }

    /// Returns the command that runs the demo: `sinew` itself, without access to the user's files.
    ///
    /// # Errors
    /// Returns an error if the path of the program is unknown.
    pub(super) fn command(&self) -> io::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        let path = |name: &str| self.folder.join(name);
        command
            .arg("--no-session")
            .arg("--script")
            .arg(path("script.jsonl"))
            .arg("--cwd")
            .arg(path("shop"))
            .arg(PROMPT);
        command.env("SINEW_HOME", path("home")).env_remove("SINEW_SCRIPT");
        Ok(command)
    }

    #[cfg(test)]
    fn path(&self) -> &std::path::Path {
        &self.folder
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // A temporary directory that cannot be deleted does no harm.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edit_of_the_demo_fixes_its_bug() {
        let demo = Demo::prepare(u64::from(std::process::id())).unwrap();
        let shop = demo.path().join("shop");
        let test = || Command::new("sh").arg("test.sh").current_dir(&shop).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&test().stdout), "wrong: total: 15, expected total: 23\n");
        let script = include_str!("demo/script.jsonl");
        let change = script.lines().find_map(|line| {
            let turn: serde_json::Value = serde_json::from_str(line).unwrap();
            let call = &turn["content"][1]["toolCall"];
            (call["name"] == "edit").then(|| call["arguments"]["edits"][0].clone())
        });
        let change = change.expect("the script changes a file");
        let text = fs::read_to_string(shop.join("total.sh")).unwrap();
        let (old, new) = (change["oldText"].as_str().unwrap(), change["newText"].as_str().unwrap());
        assert_eq!(text.matches(old).count(), 1);
        fs::write(shop.join("total.sh"), text.replace(old, new)).unwrap();
        assert_eq!(String::from_utf8_lossy(&test().stdout), "right: total: 23\n");
        let folder = demo.path().to_path_buf();
        drop(demo);
        assert!(!folder.exists());
    }
}
