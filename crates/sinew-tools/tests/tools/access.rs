//! Tests that tools use the file that was checked, even if a link replaces its directory during the check.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use serde_json::{Value, json};
use sinew_tools::{PathCheck, PathPolicy};

use crate::stage::Stage;

pub(crate) const CASES: &[crate::Case] =
    &[("access::tools_use_the_file_that_was_checked", tools_use_the_file_that_was_checked)];

/// Replaces a directory by a link as soon as its path is checked.
struct Swaps {
    folder: std::path::PathBuf,
}

impl PathPolicy for Swaps {
    fn path_check(&self, _: &str, _: Option<&str>, _: &std::path::Path) -> Option<Arc<dyn PathCheck>> {
        let folder = self.folder.clone();
        Some(Arc::new(move |_: &std::path::Path, _: Option<&fs::Metadata>| {
            if !folder.is_symlink() {
                fs::rename(&folder, folder.with_extension("old")).unwrap();
                symlink("../secret", &folder).unwrap();
            }
            Ok(())
        }))
    }
}

fn tools_use_the_file_that_was_checked() {
    let check = |tool: &str, arguments: Value| -> (Stage, String) {
        let stage = Stage::new();
        let secret = stage.cwd().parent().unwrap().join("secret");
        fs::create_dir_all(secret.join("deep")).unwrap();
        fs::write(secret.join("key"), "needle in the secret\n").unwrap();
        stage.put("sub/key", "mine\n");
        stage.call("read", json!({"path": "sub/key"}));
        stage.host.set_path_policies(vec![Arc::new(Swaps { folder: stage.cwd().join("sub") })]);
        let text = stage.call(tool, arguments).0;
        assert!(stage.cwd().join("sub").is_symlink(), "{tool}");
        crate::stage::holds(&secret, &["deep", "key"]);
        assert_eq!(fs::read_to_string(secret.join("key")).unwrap(), "needle in the secret\n", "{tool}");
        (stage, text)
    };
    let (_, text) = check("read", json!({"path": "sub/key"}));
    assert_eq!(text, "1:mine");
    let (stage, _) = check("write", json!({"path": "sub/key", "content": "new"}));
    assert_eq!(stage.get("sub.old/key"), "new");
    let (stage, _) = check("write", json!({"path": "sub/new/file", "content": "new"}));
    assert_eq!(stage.get("sub.old/new/file"), "new");
    let (stage, _) = check("edit", json!({"path": "sub/key", "oldText": "mine", "newText": "yours"}));
    assert_eq!(stage.get("sub.old/key"), "yours\n");
    #[cfg(target_os = "linux")]
    {
        let (_, text) = check("ls", json!({"path": "sub"}));
        assert_eq!(text, "key (5 B)");
    }
}
