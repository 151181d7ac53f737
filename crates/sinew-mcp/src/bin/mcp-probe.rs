//! Connects to a server and prints what it offers: `mcp-probe PROGRAM [ARGUMENT…]`. The probe is also the keeper of the
//! server, so the server ends together with it.

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    use std::ffi::OsString;
    use std::io::{self, Write};
    use std::process::ExitCode;

    let mut arguments = std::env::args_os().skip(1);
    let Some(program) = arguments.next() else { return ExitCode::from(2) };
    if program == sinew_process::supervision::ROLE {
        return ExitCode::from(u8::try_from(sinew_process::supervision::keeper()).unwrap_or(1));
    }
    let arguments: Vec<OsString> = arguments.collect();
    let probed = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|cause| cause.to_string())
        .and_then(|runtime| runtime.block_on(probe(program, arguments)).map_err(|error| error.to_string()));
    let (text, code) = match probed {
        Ok(text) => (text, 0),
        Err(message) => (format!("{message}\n"), 1),
    };
    // The reader may have closed the pipe.
    let _ = io::stdout().write_all(text.as_bytes());
    ExitCode::from(code)
}

#[cfg(unix)]
async fn probe(
    program: std::ffi::OsString,
    args: Vec<std::ffi::OsString>,
) -> Result<String, Box<dyn std::error::Error>> {
    use std::fmt::Write;
    use std::time::Instant;

    use sinew_mcp::stdio::StdioServer;
    use sinew_mcp::{Client, ClientOptions};
    use sinew_process::supervision::ProgramSpec;

    let mut text = String::new();
    let begun = Instant::now();
    let program = ProgramSpec { program, args, env: std::env::vars_os().collect(), cwd: None };
    let server = StdioServer { keeper: std::env::current_exe()?, program };
    let client = Client::start(&server, &ClientOptions::default()).await?;
    let info = client.info();
    writeln!(text, "{} {} ({}), ready in {:?}", info.name, info.server_version, info.version, begun.elapsed())?;
    for (capability, listing) in [
        ("tools", client.list_tools().await),
        ("resources", client.list_resources().await),
        ("prompts", client.list_prompts().await),
    ] {
        if !info.offers(capability) {
            continue;
        }
        let listing = listing?;
        writeln!(text, "{} {capability}:", listing.items.len())?;
        for item in listing.items {
            writeln!(text, "  {}", item.name)?;
        }
        for note in listing.notes {
            writeln!(text, "  ({note})")?;
        }
    }
    client.close().await;
    Ok(text)
}

#[cfg(not(unix))]
fn main() -> std::process::ExitCode {
    std::process::ExitCode::from(2)
}
