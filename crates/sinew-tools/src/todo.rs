//! `todo`: the task list, with at most one item in progress.

use serde::Deserialize;
use serde_json::{Value, json};

use super::spec::{Outcome, PLAIN, Run, Spec, always};
use super::{Host, HostOptions, arguments};
use crate::semantics::{Effects, Semantics, ToolKind};
use crate::tasks::{Phase, Status, Task, tasks};
use crate::tool::{Call, Concurrency, ToolOutput};

pub(super) static SPEC: Spec = Spec {
    name: "todo",
    description: "Keep the list of work: init {list}, start/done/drop/rm {task or phase}, append {phase, items}, \
                  note {task, text}. Tasks are named by their exact text.",
    parameters,
    guidelines: &["Use todo for work of three steps or more; mark each step done at once, before you give the answer."],
    concurrency: Concurrency::Exclusive,
    flags: PLAIN,
    semantics: Semantics {
        kind: ToolKind::Plan,
        effects: Effects::NONE,
        foreign_names: &["TodoWrite"],
        ..Semantics::UNKNOWN
    },
    offered: always,
    reject_early: None,
    preview: None,
    run: Run::Blocking(run),
};

fn parameters(_: &HostOptions) -> Value {
    let text = json!({"type": "string"});
    let items = json!({"type": "array", "items": text});
    json!({
        "type": "object",
        "properties": {"ops": {"type": "array", "minItems": 1, "items": {
            "type": "object",
            "properties": {
                "op": {"enum": ["init", "start", "done", "drop", "rm", "append", "note"]},
                "list": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"phase": text, "items": items},
                    "required": ["phase", "items"],
                    "additionalProperties": false,
                }},
                "task": text, "phase": text, "items": items, "text": text,
            },
            "required": ["op"],
            "additionalProperties": false,
        }}},
        "required": ["ops"],
        "additionalProperties": false,
    })
}

#[derive(Deserialize)]
struct Arguments {
    ops: Vec<Op>,
}

#[derive(Deserialize)]
struct Op {
    op: String,
    list: Option<Vec<Group>>,
    task: Option<String>,
    phase: Option<String>,
    items: Option<Vec<String>>,
    text: Option<String>,
}

#[derive(Deserialize)]
struct Group {
    phase: String,
    items: Vec<String>,
}

fn run(host: &Host, call: &Call) -> Outcome {
    let Arguments { ops } = arguments::parse(call)?;
    host.todo.clear_if_due();
    let mut phases = host.todo.phases.lock();
    let open: Vec<String> =
        tasks(&phases).filter(|task| task.status.is_open()).map(|task| task.content.clone()).collect();
    let mut errors = Vec::new();
    for op in &ops {
        if let Err(error) = apply(&mut phases, op) {
            errors.push(error);
        }
    }
    settle(&mut phases);
    host.todo.schedule(&phases, host.options.settings.todo_auto_clear_seconds);
    let done: Vec<&str> = tasks(&phases)
        .filter(|task| task.status == Status::Completed && open.contains(&task.content))
        .map(|task| task.content.as_str())
        .collect();
    let mut text = shown(&phases);
    let storage = if host.options.artifacts.is_temporary() { "memory" } else { "session" };
    if !errors.is_empty() {
        text = format!("{}\n\n{text}", errors.join("\n"));
    }
    let mut details = json!({"phases": *phases, "storage": storage});
    if !done.is_empty() {
        details["completedTasks"] = json!(done);
    }
    Ok(ToolOutput { is_error: !errors.is_empty(), ..ToolOutput::text(text).with_details(details) })
}

impl Host {
    /// Restores the list from the `details` of an earlier result, without finished tasks. Used when a session is
    /// resumed.
    pub fn restore_todo(&self, details: &Value) {
        let Ok(mut phases) = Vec::<Phase>::deserialize(&details["phases"]) else { return };
        for phase in &mut phases {
            phase.tasks.retain(|task| task.status.is_open());
        }
        phases.retain(|phase| !phase.tasks.is_empty());
        settle(&mut phases);
        *self.todo.phases.lock() = phases;
    }

    /// Returns the list.
    #[must_use]
    pub fn todo_phases(&self) -> Vec<Phase> {
        self.todo.phases.lock().clone()
    }

    /// Replaces the list by the user's list and returns the result: at most one item is in progress.
    ///
    /// # Errors
    /// Returns an error if a phase or a task has no name, or if a name is not unique.
    pub fn set_todo(&self, phases: Vec<Phase>) -> Result<Vec<Phase>, String> {
        let mut fresh: Vec<Phase> = Vec::with_capacity(phases.len());
        for Phase { name, tasks } in phases {
            if fresh.iter().any(|phase| phase.name == name) {
                return Err(format!("Phase \"{name}\" already exists"));
            }
            let items: Vec<String> = tasks.iter().map(|task| task.content.clone()).collect();
            add(&mut fresh, &name, &items)?;
            if let Some(phase) = fresh.last_mut() {
                phase.tasks = tasks;
            }
        }
        settle(&mut fresh);
        let mut phases = self.todo.phases.lock();
        phases.clone_from(&fresh);
        self.todo.schedule(&phases, self.options.settings.todo_auto_clear_seconds);
        Ok(fresh)
    }

    /// Returns the open items of the list, as objects with `content` and `status`; `None` if there are none.
    pub fn open_items(&self) -> Option<Value> {
        let phases = self.todo.phases.lock();
        let open: Vec<&Task> = tasks(&phases).filter(|task| task.status.is_open()).collect();
        (!open.is_empty()).then(|| json!(open))
    }
}

/// Returns true for the tasks of a phase that are selected.
type Choice = Box<dyn Fn(&str, &Task) -> bool>;

fn apply(phases: &mut Vec<Phase>, op: &Op) -> Result<(), String> {
    let status = match op.op.as_str() {
        "init" => return init(phases, op.list.as_deref()),
        "append" => return append(phases, op),
        "note" => {
            let task = find(phases, op.task.as_deref().ok_or("Missing task content")?)?;
            let text = op.text.as_deref().filter(|text| !text.is_empty()).ok_or("Missing text for note operation")?;
            task.notes.push(text.to_string());
            return Ok(());
        }
        "start" => {
            let name = op.task.as_deref().ok_or("Missing task content")?;
            find(phases, name)?;
            for task in phases.iter_mut().flat_map(|phase| &mut phase.tasks) {
                if task.content == name {
                    task.status = Status::InProgress;
                } else if task.status == Status::InProgress {
                    task.status = Status::Pending;
                }
            }
            return Ok(());
        }
        "done" => Some(Status::Completed),
        "drop" => Some(Status::Abandoned),
        _ => None,
    };
    let chosen: Choice = match (&op.task, &op.phase) {
        (Some(name), _) => {
            find(phases, name)?;
            let name = name.clone();
            Box::new(move |_, task| task.content == name)
        }
        (None, Some(name)) => {
            if !phases.iter().any(|phase| phase.name == *name) {
                return Err(format!("Phase \"{name}\" not found"));
            }
            let name = name.clone();
            Box::new(move |phase, _| phase == name)
        }
        (None, None) => Box::new(|_, _| true),
    };
    for phase in phases.iter_mut() {
        match status {
            None => phase.tasks.retain(|task| !chosen(&phase.name, task)),
            // Finished tasks keep their status.
            Some(status) => phase
                .tasks
                .iter_mut()
                .filter(|task| chosen(&phase.name, task) && (task.status.is_open() || op.task.is_some()))
                .for_each(|task| task.status = status),
        }
    }
    if status.is_none() {
        phases.retain(|phase| !phase.tasks.is_empty());
    }
    Ok(())
}

fn find<'a>(phases: &'a mut [Phase], name: &str) -> Result<&'a mut Task, String> {
    let mut tasks = phases.iter_mut().flat_map(|phase| &mut phase.tasks);
    tasks.find(|task| task.content == name).ok_or_else(|| format!("Task \"{name}\" not found"))
}

fn init(phases: &mut Vec<Phase>, list: Option<&[Group]>) -> Result<(), String> {
    let list = list.ok_or("Missing list for init operation")?;
    let mut fresh = Vec::new();
    for group in list {
        add(&mut fresh, &group.phase, &group.items)?;
    }
    *phases = fresh;
    Ok(())
}

fn append(phases: &mut Vec<Phase>, op: &Op) -> Result<(), String> {
    let phase = op.phase.as_deref().ok_or("Missing phase name for append operation")?;
    let items = op.items.as_deref().filter(|items| !items.is_empty()).ok_or("Missing items for append operation")?;
    add(phases, phase, items)
}

/// Adds all `items`, or none if one is invalid.
fn add(phases: &mut Vec<Phase>, name: &str, items: &[String]) -> Result<(), String> {
    if name.is_empty() {
        return Err("Missing phase name".into());
    }
    for (index, item) in items.iter().enumerate() {
        if item.is_empty() {
            return Err("Missing task content".into());
        }
        if tasks(phases).any(|task| task.content == *item) || items[..index].contains(item) {
            return Err(format!("Task \"{item}\" already exists"));
        }
    }
    let new = items.iter().map(|item| Task { content: item.clone(), status: Status::Pending, notes: Vec::new() });
    match phases.iter_mut().find(|phase| phase.name == name) {
        Some(phase) => phase.tasks.extend(new),
        None => phases.push(Phase { name: name.to_string(), tasks: new.collect() }),
    }
    Ok(())
}

/// Ensures one active item: the first that is in progress, otherwise the first pending one.
fn settle(phases: &mut [Phase]) {
    let mut active = false;
    for task in phases.iter_mut().flat_map(|phase| &mut phase.tasks) {
        if task.status == Status::InProgress && std::mem::replace(&mut active, true) {
            task.status = Status::Pending;
        }
    }
    let mut pending = phases.iter_mut().flat_map(|phase| &mut phase.tasks);
    if !active && let Some(task) = pending.find(|task| task.status == Status::Pending) {
        task.status = Status::InProgress;
    }
}

fn shown(phases: &[Phase]) -> String {
    if phases.is_empty() {
        return "Todo list cleared.".into();
    }
    let open = tasks(phases).filter(|task| task.status.is_open()).count();
    let is_active = |task: &&Task| task.status == Status::InProgress;
    let mut text = format!("{open} open of {}", tasks(phases).count());
    if let Some(phase) = phases.iter().find(|phase| phase.tasks.iter().any(|task| is_active(&task))) {
        text.push_str(&format!(", phase: {}", phase.name));
    }
    for phase in phases {
        text.push_str(&format!("\n{}", phase.name));
        for task in &phase.tasks {
            let mark = match task.status {
                Status::Pending => ' ',
                Status::InProgress => '>',
                Status::Completed => 'x',
                Status::Abandoned => '-',
            };
            text.push_str(&format!("\n  [{mark}] {}", task.content));
        }
    }
    for note in tasks(phases).find(is_active).into_iter().flat_map(|task| &task.notes) {
        text.push_str(&format!("\nnote: {note}"));
    }
    text
}
