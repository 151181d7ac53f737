//! Presents a server's questions to the user, as questions of the tool `ask`.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use sinew_mcp::{BoxFuture, ClientHost, Elicitation, ElicitationAnswer, Root};
use sinew_tools::{Ask, Choice, Question};

use super::hooked::ServerHooks;

/// The number of log lines of a server that are kept.
const LINES: usize = 50;

/// Answers the requests of one server: asks the user if there is one, otherwise declines.
pub struct PersonHost {
    server: String,
    cwd: PathBuf,
    ask: Option<Arc<dyn Ask>>,
    hooks: Option<Arc<ServerHooks>>,
    lines: Arc<Mutex<VecDeque<String>>>,
}

impl PersonHost {
    /// Creates the host for the server `server`, in a session with the working directory `cwd`.
    #[must_use]
    pub fn new(server: &str, cwd: PathBuf, ask: Option<Arc<dyn Ask>>) -> PersonHost {
        PersonHost { server: server.to_string(), cwd, ask, hooks: None, lines: Arc::default() }
    }

    /// Asks extensions before the user.
    #[must_use]
    pub fn with_hooks(self, hooks: Option<Arc<ServerHooks>>) -> PersonHost {
        PersonHost { hooks, ..self }
    }

    /// Returns the last lines of the server's log.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().iter().cloned().collect()
    }
}

impl ClientHost for PersonHost {
    fn can_ask(&self) -> bool {
        self.ask.is_some() || self.hooks.as_ref().is_some_and(|hooks| hooks.can_answer())
    }

    fn starting(&self) -> BoxFuture<'static, ()> {
        let Some(hooks) = self.hooks.clone() else { return Box::pin(std::future::ready(())) };
        let (server, lines) = (self.server.clone(), Arc::clone(&self.lines));
        Box::pin(async move {
            hooks.start(&server).await.iter().for_each(|fault| keep(&lines, fault));
        })
    }

    fn elicit(&self, question: Elicitation) -> BoxFuture<'static, ElicitationAnswer> {
        let (ask, hooks, server) = (self.ask.clone(), self.hooks.clone(), self.server.clone());
        let lines = Arc::clone(&self.lines);
        Box::pin(async move {
            if let Some(hooks) = hooks {
                let (given, faults) = hooks.answer(&server, &question).await;
                faults.iter().for_each(|fault| keep(&lines, fault));
                if let Some(given) = given {
                    return given;
                }
            }
            match ask {
                Some(ask) => answer(&*ask, &server, &question).await,
                None => ElicitationAnswer::Cancel,
            }
        })
    }

    fn roots(&self) -> Vec<Root> {
        let name = self.cwd.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let uri = url::Url::from_file_path(&self.cwd).map(String::from).unwrap_or_default();
        vec![Root { uri, name }]
    }

    fn log(&self, line: &str) {
        keep(&self.lines, line);
    }
}

fn keep(lines: &Mutex<VecDeque<String>>, line: &str) {
    let mut lines = lines.lock();
    if lines.len() == LINES {
        lines.pop_front();
    }
    lines.push_back(line.chars().take(300).collect());
}

const YES: &str = "Yes";
const NO: &str = "No";

async fn answer(ask: &dyn Ask, server: &str, question: &Elicitation) -> ElicitationAnswer {
    match question {
        Elicitation::Url { message, url, .. } => {
            let title = format!("MCP server \"{server}\" asks you to open {}", host_of(url));
            let text = format!("{message}\n{url}\nOpen it in a browser yourself and say yes when you are done.");
            if ask.confirm(&title, &text).await {
                ElicitationAnswer::Accept(Map::new())
            } else {
                ElicitationAnswer::Decline
            }
        }
        Elicitation::Form { message, schema } => {
            let fields = fields(schema);
            if fields.is_empty() {
                let title = format!("MCP server \"{server}\" asks");
                return if ask.confirm(&title, message).await {
                    ElicitationAnswer::Accept(Map::new())
                } else {
                    ElicitationAnswer::Decline
                };
            }
            let mut remark: Option<String> = None;
            // An invalid answer is asked for again, up to three times in total.
            for _ in 0..3 {
                let head = format!("MCP server \"{server}\": {message}");
                let questions: Vec<Question> = fields
                    .iter()
                    .enumerate()
                    .map(|(index, field)| field.question((index == 0).then_some(&head), remark.as_deref()))
                    .collect();
                let Some(answers) = ask.ask(&questions).await else { return ElicitationAnswer::Cancel };
                match fields
                    .iter()
                    .zip(&answers)
                    .map(|(field, answer)| field.read(answer))
                    .collect::<Result<Vec<_>, _>>()
                {
                    Ok(values) => {
                        let filled =
                            fields.iter().zip(values).filter_map(|(field, value)| Some((field.name.clone(), value?)));
                        return ElicitationAnswer::Accept(filled.collect());
                    }
                    Err(reason) => remark = Some(reason),
                }
            }
            ElicitationAnswer::Cancel
        }
    }
}

/// Returns the host of a URL, which is the part that a user can judge.
fn host_of(url: &str) -> String {
    url::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_string)).unwrap_or_else(|| "a URL".into())
}

/// A field of a form.
#[derive(Debug)]
struct Field {
    name: String,
    title: String,
    required: bool,
    kind: Kind,
    default: Option<Value>,
    hint: Option<String>,
    schema: Value,
}

#[derive(Debug)]
enum Kind {
    Text,
    Number,
    Integer,
    Flag,
    /// Values and their titles.
    One(Vec<(String, String)>),
    Many(Vec<(String, String)>),
}

fn fields(schema: &Value) -> Vec<Field> {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object();
    properties
        .into_iter()
        .flatten()
        .map(|(name, field)| {
            let kind = match field["type"].as_str() {
                Some("number") => Kind::Number,
                Some("integer") => Kind::Integer,
                Some("boolean") => Kind::Flag,
                Some("array") => Kind::Many(choices(&field["items"])),
                _ => match choices(field) {
                    choices if choices.is_empty() => Kind::Text,
                    choices => Kind::One(choices),
                },
            };
            let text = |key: &str| field[key].as_str().map(str::to_string);
            Field {
                name: name.clone(),
                title: text("title").unwrap_or_else(|| name.clone()),
                required: required.contains(&name.as_str()),
                default: field.get("default").filter(|value| !value.is_null()).cloned(),
                hint: text("description"),
                schema: field.clone(),
                kind,
            }
        })
        .collect()
}

/// Returns the values of an enumeration with their titles: `enum` with `enumNames`, or `oneOf`/`anyOf` of constants.
fn choices(schema: &Value) -> Vec<(String, String)> {
    if let Some(values) = schema["enum"].as_array() {
        let titles = schema["enumNames"].as_array();
        let title = |index: usize| titles.and_then(|titles| titles.get(index)?.as_str());
        let texts = values.iter().enumerate().filter_map(|(index, value)| Some((index, value.as_str()?)));
        return texts.map(|(index, value)| (value.to_string(), title(index).unwrap_or(value).to_string())).collect();
    }
    let constants = ["oneOf", "anyOf"].into_iter().find_map(|key| schema[key].as_array());
    let constants = constants.into_iter().flatten().filter_map(|one| Some((one["const"].as_str()?, one)));
    constants.map(|(value, one)| (value.to_string(), one["title"].as_str().unwrap_or(value).to_string())).collect()
}

impl Field {
    fn question(&self, head: Option<&String>, remark: Option<&str>) -> Question {
        let mut text = String::new();
        if let Some(head) = head {
            text.push_str(&format!("{head}\n"));
            if let Some(remark) = remark {
                text.push_str(&format!("({remark})\n"));
            }
        }
        text.push_str(&self.title);
        if let Some(hint) = self.hint.as_ref().filter(|hint| **hint != self.title) {
            text.push_str(&format!(": {hint}"));
        }
        if let (Some(default), Kind::Text | Kind::Number | Kind::Integer) = (&self.default, &self.kind) {
            text.push_str(&format!(" [{}]", plain(default)));
        }
        if !self.required {
            text.push_str(" (may stay empty)");
        }
        let choice = |label: &str| Choice { label: label.to_string(), description: None };
        let options: Vec<Choice> = match &self.kind {
            Kind::Flag => vec![choice(YES), choice(NO)],
            Kind::One(choices) | Kind::Many(choices) => choices.iter().map(|(_, title)| choice(title)).collect(),
            Kind::Text | Kind::Number | Kind::Integer => {
                self.default.iter().map(|default| choice(&plain(default))).collect()
            }
        };
        let recommended = match (&self.kind, &self.default) {
            (Kind::Flag, Some(Value::Bool(flag))) => Some(usize::from(!flag)),
            (Kind::One(choices), Some(Value::String(value))) => choices.iter().position(|(known, _)| known == value),
            (Kind::Text | Kind::Number | Kind::Integer, Some(_)) => Some(0),
            _ => None,
        };
        Question {
            id: Some(self.name.clone()),
            question: text,
            options,
            multi: matches!(self.kind, Kind::Many(_)),
            recommended,
        }
    }

    /// Converts an answer to a value; `None` if the field is left out.
    fn read(&self, answer: &str) -> Result<Option<Value>, String> {
        let answer = answer.trim();
        let wrong = |what: &str| format!("{}: {answer:?} is {what}", self.title);
        if answer.is_empty() || answer == "No answer" {
            return match (&self.default, self.required) {
                (Some(default), _) => Ok(Some(default.clone())),
                (None, false) => Ok(None),
                (None, true) => Err(format!("{} is required", self.title)),
            };
        }
        let of = |choices: &[(String, String)], answer: &str| {
            let found = choices.iter().find(|(value, title)| value == answer || title == answer);
            found.map(|(value, _)| Value::String(value.clone()))
        };
        let value = match &self.kind {
            Kind::Text => json!(answer),
            Kind::Flag => match answer.to_ascii_lowercase().as_str() {
                "yes" | "y" | "true" => json!(true),
                "no" | "n" | "false" => json!(false),
                _ => return Err(wrong("neither yes nor no")),
            },
            Kind::Integer => json!(answer.parse::<i64>().map_err(|_| wrong("not a whole number"))?),
            Kind::Number => json!(answer.parse::<f64>().map_err(|_| wrong("not a number"))?),
            Kind::One(choices) => of(choices, answer).ok_or_else(|| wrong("not one of the choices"))?,
            Kind::Many(choices) => {
                let words = answer.split(',').map(str::trim).filter(|word| !word.is_empty());
                words
                    .map(|word| of(choices, word).ok_or_else(|| wrong("not one of the choices")))
                    .collect::<Result<_, _>>()?
            }
        };
        // Checks the bounds of numbers, the lengths of texts and the sizes of lists.
        match sinew_tools::schema::validate(&self.schema, &value).first() {
            Some(fault) => Err(format!("{}: {}", self.title, fault.trim_start_matches("/: "))),
            None => Ok(Some(value)),
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}
