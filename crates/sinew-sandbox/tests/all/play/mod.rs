//! Runs the rows of a table: creates directories, runs the setup, creates the sandbox, runs the attempt and the check.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use sinew_sandbox::{CallerEnvironment, Mode, Network, Policy, Protect, Sandbox};
use tempfile::TempDir;

/// The ordinary user of the tests: `nobody`.
const USER: u32 = 65534;

/// The rows of attacks and uses.
pub(crate) struct Table {
    kit: Vec<(String, String)>,
    rows: Vec<Value>,
}

impl Table {
    pub(crate) fn parse(text: &str) -> Table {
        Table::from_value(&serde_json::from_str(text).unwrap())
    }

    pub(crate) fn parse_yaml(text: &str) -> Table {
        Table::from_value(&serde_norway::from_str(text).unwrap())
    }

    fn from_value(value: &Value) -> Table {
        let kit = value["kit"].as_object().into_iter().flatten();
        Table {
            kit: kit.map(|(name, text)| (name.clone(), text.as_str().unwrap().to_string())).collect(),
            rows: value["rows"].as_array().into_iter().flatten().cloned().chain(pairs(value)).collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }
}

/// Returns one row for each policy and each attempt of the matrices of a table.
fn pairs(table: &Value) -> Vec<Value> {
    let mut rows = Vec::new();
    for matrix in table["matrices"].as_array().into_iter().flatten() {
        for (mode, policy) in matrix["policies"].as_object().unwrap() {
            for (way, attempt) in matrix["attempts"].as_object().unwrap() {
                let mut row = matrix.clone();
                row["id"] = format!("{}.{way}.{mode}", matrix["id"].as_str().unwrap()).into();
                (row["policy"], row["attempt"]) = (policy.clone(), attempt.clone());
                rows.push(row);
            }
        }
    }
    rows
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Good,
    Fails,
    Skipped,
}

/// Creates a directory outside of the directories for temporary files, to which programs may write.
pub(crate) fn folder() -> TempDir {
    let candidates = [env!("CARGO_TARGET_TMPDIR"), "/srv", "/opt"];
    let is_temporary = |path: &Path| path.starts_with("/tmp") || path.starts_with("/var/tmp");
    let folder = candidates.iter().find_map(|base| {
        let base = Path::new(base).canonicalize().ok().filter(|base| !is_temporary(base))?;
        tempfile::Builder::new().prefix("sinew-attacks-").tempdir_in(base).ok()
    });
    folder.expect("a writable folder that is not for temporary files")
}

/// Runs one test of this program as an ordinary user.
pub(crate) fn run_as_user(folder: &Path, test: &str, variable: &str) {
    std::os::unix::fs::chown(folder, Some(USER), Some(USER)).unwrap();
    let status = Command::new("setpriv")
        .args(["--reuid", &USER.to_string(), "--regid", &USER.to_string(), "--clear-groups", "--"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(variable, folder)
        .current_dir("/")
        .status()
        .unwrap();
    assert!(status.success(), "{test} as an ordinary user");
}

/// The directories of one row.
struct Places {
    root: PathBuf,
    out: PathBuf,
    home: PathBuf,
    temp: PathBuf,
    kit: PathBuf,
    log: PathBuf,
}

impl Places {
    fn fill(&self, text: &str) -> String {
        let places = [
            ("${ROOT}", &self.root),
            ("${OUT}", &self.out),
            ("${HOME}", &self.home),
            ("${TMP}", &self.temp),
            ("${KIT}", &self.kit),
            ("${LOG}", &self.log),
        ];
        places.iter().fold(text.to_string(), |text, (name, path)| text.replace(name, path.to_str().unwrap()))
    }

    fn bash(&self, args: &[&str]) -> Command {
        let mut command = Command::new("bash");
        command.args(args).current_dir(&self.root).env("HOME", &self.home).env("TMPDIR", &self.temp);
        // The ordinary user of the tests has no login shell, which tmux would start.
        command.env("SHELL", "/bin/sh");
        command.stdin(Stdio::null());
        command
    }
}

pub(crate) struct Player {
    folder: PathBuf,
    kit: PathBuf,
}

impl Player {
    pub(crate) fn new(folder: &Path, table: &Table) -> Player {
        let kit = folder.join("kit");
        std::fs::create_dir_all(&kit).unwrap();
        for (name, text) in &table.kit {
            std::fs::write(kit.join(name), text).unwrap();
        }
        if kit.join("raw.c").exists() {
            let status = Command::new("gcc").args(["-O1", "-static", "-o", "raw", "raw.c"]).current_dir(&kit).status();
            assert!(status.is_ok_and(|status| status.success()), "gcc compiles raw.c");
        }
        Player { folder: folder.to_path_buf(), kit }
    }

    /// Runs the rows whose name contains `only`, several at a time. Results are in the order of the rows.
    pub(crate) fn play(&self, table: &Table, only: &str, with_sandbox: bool) -> Vec<(String, Outcome)> {
        let rows: Vec<&Value> = table.rows.iter().filter(|row| row["id"].as_str().unwrap().contains(only)).collect();
        let next = AtomicUsize::new(0);
        let mut outcomes = std::thread::scope(|scope| {
            let work = || {
                let mut outcomes = Vec::new();
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(row) = rows.get(at) else { return outcomes };
                    outcomes.push((at, self.play_row(row, with_sandbox)));
                }
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(work)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        outcomes.sort_by_key(|(at, _)| *at);
        outcomes.into_iter().map(|(at, outcome)| (rows[at]["id"].as_str().unwrap().to_string(), outcome)).collect()
    }

    /// Runs a row, with or without a sandbox.
    fn play_row(&self, row: &Value, with_sandbox: bool) -> Outcome {
        let id = row["id"].as_str().unwrap();
        let is_root = rustix::process::geteuid().is_root();
        let needs = row["needs"].as_array().into_iter().flatten();
        let lacks = needs.map(|name| name.as_str().unwrap()).any(|name| find_program(name).is_none());
        if lacks || (row["as"] == "root" && !is_root) || row["tty"] == true {
            return Outcome::Skipped;
        }
        let base = self.folder.join(format!("{id}-{with_sandbox}"));
        let place = |name: &str| {
            std::fs::create_dir_all(base.join(name)).unwrap();
            base.join(name)
        };
        let places = Places {
            root: place("root"),
            out: place("out"),
            home: place("home"),
            temp: place("tmp"),
            kit: self.kit.clone(),
            log: place("logs").join("log"),
        };
        let setup: Vec<&str> =
            row["setup"].as_array().into_iter().flatten().map(|line| line.as_str().unwrap()).collect();
        let setup = places.fill(&setup.join("\n"));
        let prepared = places.bash(&["-e", "-c", &setup]).stdout(Stdio::null()).status().unwrap();
        assert!(prepared.success(), "the setup of {id} fails");
        let sandbox = with_sandbox.then(|| sandbox(&row["policy"], &places));
        let sandbox = match sandbox.transpose() {
            Ok(sandbox) => sandbox,
            Err(error) => {
                println!("{id}: {error}");
                return Outcome::Fails;
            }
        };
        if let Some(before) = row["before"].as_str() {
            attempt(&places, sandbox.as_ref(), before, None);
            let between = places.fill(row["between"].as_str().unwrap_or("true"));
            assert!(places.bash(&["-e", "-c", &between]).status().unwrap().success(), "between of {id}");
        }
        let inherited = row["inherit"].as_str().map(|path| File::open(places.fill(path)).unwrap());
        attempt(&places, sandbox.as_ref(), row["attempt"].as_str().unwrap(), inherited);
        let check = places.fill(row["check"].as_str().unwrap());
        let mut check = places.bash(&["-c", &check]);
        // An attack may have moved the root.
        check.current_dir(&places.out).stderr(Stdio::null()).stdout(Stdio::null());
        let happened = check.status().unwrap().success();
        let wanted = row["expect"] == "works" || !with_sandbox;
        if happened == wanted {
            return Outcome::Good;
        }
        let log = std::fs::read(&places.log).unwrap_or_default();
        println!("{id}: {}\n{}", row["attempt"], String::from_utf8_lossy(&log));
        Outcome::Fails
    }
}

fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn attempt(places: &Places, sandbox: Option<&Sandbox>, line: &str, inherited: Option<File>) {
    let log = File::create(&places.log).unwrap();
    let mut command = places.bash(&["-c", &places.fill(line)]);
    command.stdout(log.try_clone().unwrap()).stderr(log);
    if let Some(file) = &inherited {
        let number = file.as_raw_fd();
        // SAFETY: the call only receives numbers.
        unsafe {
            command.pre_exec(move || match libc::dup2(number, 9) {
                9 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            });
        }
    }
    let entry = sandbox.map(|sandbox| {
        let entry = sandbox.enter().unwrap();
        entry.attach(&mut command).unwrap();
        entry
    });
    let child = command.spawn();
    drop(command);
    let code = match child {
        Ok(mut child) => {
            let status = child.wait().unwrap();
            status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)).to_string()
        }
        Err(error) => format!("not started: {error}"),
    };
    std::fs::write(places.log.with_extension("rc"), code).unwrap();
    let refusals = entry.map(sinew_sandbox::Entry::finish).unwrap_or_default();
    std::fs::write(places.log.with_extension("refused"), format!("{refusals:?}")).unwrap();
}

fn sandbox(policy: &Value, places: &Places) -> sinew_base::Result<Sandbox> {
    let list = |name: &str| -> Vec<String> {
        policy[name].as_array().into_iter().flatten().map(|entry| places.fill(entry.as_str().unwrap())).collect()
    };
    let known = ["mode", "network", "roots", "write", "denyWrite", "denyRead", "denyExec", "protect", "unixSockets"];
    for name in policy.as_object().unwrap().keys() {
        assert!(known.contains(&name.as_str()), "the policy has {name}");
    }
    let network = match &policy["network"] {
        Value::Null => None,
        Value::String(name) => Some(if name == "on" { Network::On } else { Network::Off }),
        value => Some(if value["loopback"] == true { Network::Loopback } else { Network::Off }),
    };
    let policy = Policy {
        roots: list("roots"),
        write: list("write"),
        deny_write: list("denyWrite"),
        deny_read: list("denyRead"),
        deny_exec: list("denyExec"),
        protect: policy["protect"].is_array().then(|| Protect::Paths(list("protect"))),
        network,
        unix_sockets: (!policy["unixSockets"].is_null()).then(|| list("unixSockets")),
        ..Policy::new(Mode::from_name(policy["mode"].as_str().unwrap()).unwrap())
    };
    let surroundings = CallerEnvironment {
        cwd: places.root.clone(),
        home: Some(places.home.clone()),
        temp: Some(places.temp.clone()),
        path: std::env::var_os("PATH"),
        ..CallerEnvironment::default()
    };
    Sandbox::prepare(&policy, &surroundings)
}
