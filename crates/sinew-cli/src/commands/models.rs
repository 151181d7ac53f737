//! Implements `--list-models [FILTER]`.

use sinew_control::failure::Failure;
use sinew_control::models::ModelSelector;
use sinew_control::output::{self, print};
use sinew_control::secrets;
use sinew_control::startup::Startup;

/// Lists the models that match the filter.
///
/// # Errors
/// Returns an error if a script is invalid, or if stdout cannot be written.
pub(super) fn list(startup: &Startup, warnings: &[String], filter: &str) -> Result<u8, Failure> {
    let runtime = sinew_control::startup::runtime(1)?;
    let code = runtime.block_on(show(startup, warnings, &filter.to_lowercase()));
    runtime.shutdown_background();
    code
}

async fn show(startup: &Startup, warnings: &[String], filter: &str) -> Result<u8, Failure> {
    let models = ModelSelector::read(startup, &secrets::none(), "")?;
    let mut notes: Vec<String> =
        warnings.iter().chain(&models.warnings).map(|text| format!("Warning: {text}")).collect();
    let asked = asked(&models, filter);
    for asked in models.ask(&asked).await {
        let named = names(filter, &asked.provider);
        if asked.good && named {
            // Success is only reported if the user named this server.
            notes.push(asked.text);
        } else if !asked.good && (named || models.is_configured(&asked.provider)) {
            // Ollama may be missing if neither the user nor the configuration refers to it.
            notes.push(format!("Warning: {}", asked.text));
        }
    }
    for note in notes {
        output::tell(&note);
    }
    let fits = |key: &str, name: &str| key.to_lowercase().contains(filter) || name.to_lowercase().contains(filter);
    let registry = models.registry();
    let listed = registry.models().iter().filter(|model| fits(&model.key(), &model.name));
    let mut out = String::new();
    for model in listed {
        let thinks = if model.reasoning { "thinking" } else { "" };
        let sees = if model.takes_images() && !model.unknown { "images" } else { "" };
        let key = if models.has_key(&model.provider) { "" } else { "no key" };
        let (window, answer) = (tokens(model.context_window), tokens(model.max_tokens));
        let line = format!("{:44} {window:>6} {answer:>6}  {thinks:8}  {sees:6}  {key}", model.key());
        out.push_str(line.trim_end());
        out.push('\n');
    }
    if !out.is_empty() {
        let head = format!("{:44} {:>6} {:>6}", "model", "window", "answer");
        out.insert_str(0, &format!("{head}\n"));
    }
    if out.is_empty() {
        out = format!("No model matches \"{filter}\"\n");
    }
    print(&out)
}

/// Formats a number of tokens: `200K`, `1.0M`.
fn tokens(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..1_000_000 => format!("{}K", count / 1000),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// Returns the providers whose models are requested: those that the filter names, and those that require it.
fn asked(models: &ModelSelector, filter: &str) -> Vec<String> {
    let wanted = models.wanted();
    let registry = models.registry();
    let entries = registry.providers().iter();
    let entries =
        entries.filter(|entry| entry.discovery.is_some() && (names(filter, &entry.id) || wanted.contains(&entry.id)));
    entries.map(|entry| entry.id.clone()).collect()
}

/// Returns true if a filter names exactly this provider.
fn names(filter: &str, provider: &str) -> bool {
    !filter.is_empty() && (filter.starts_with(provider) || provider.contains(filter))
}
