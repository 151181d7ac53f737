//! A row of the table of settings, and the macro that declares rows together with the fields that contain their values.

use serde_json::Value;

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Flag,
    /// An integer that is not negative.
    Number,
    /// A number that is not negative.
    Amount,
    /// An integer.
    Signed,
    /// A string.
    Text,
    /// One of these values.
    Word(&'static [&'static str]),
    /// A list of strings.
    Texts,
    /// A list of any values.
    List,
    /// An object with any values.
    Object,
}

impl Kind {
    /// Returns a text that says what was expected instead of `value`; `None` if the value is valid.
    pub fn refusal(self, value: &Value) -> Option<String> {
        let fits = match self {
            Kind::Flag => value.is_boolean(),
            Kind::Number => value.is_u64(),
            Kind::Amount => value.as_f64().is_some_and(|number| number >= 0.0),
            Kind::Signed => value.is_i64(),
            Kind::Text => value.is_string(),
            Kind::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Kind::Texts => value.as_array().is_some_and(|list| list.iter().all(Value::is_string)),
            Kind::List => value.is_array(),
            Kind::Object => value.is_object(),
        };
        (!fits).then(|| self.describe())
    }

    /// Returns the name of the type: `a whole number`.
    pub fn describe(self) -> String {
        match self {
            Kind::Flag => "true or false".into(),
            Kind::Number | Kind::Signed => "a whole number".into(),
            Kind::Amount => "a number".into(),
            Kind::Text => "a text".into(),
            Kind::Word(words) => format!("one of {}", words.join(", ")),
            Kind::Texts => "a list of texts".into(),
            Kind::List => "a list".into(),
            Kind::Object => "an object".into(),
        }
    }
}

/// The settings files that may set a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The user's file, and every project's, because the key only changes the display.
    Display,
    /// The user's file, and a project's if it is trusted.
    Trusted,
    /// The user's file. A project's value is in force if it is stricter, even if the project is not trusted.
    Tighten,
}

/// When a changed value applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applies {
    /// At once: the agent or the screen reads it whenever it needs it.
    Now,
    /// From the next start on.
    Start,
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// A path such as `retry.enabled`.
    pub path: &'static str,
    /// The type of the value.
    pub kind: Kind,
    /// The default as JSON; empty for a key without a default.
    pub default: &'static str,
    /// The files that may set the key.
    pub scope: Scope,
    /// When a changed value applies.
    pub applies: Applies,
    /// The part of the program that will use the key but does not exist yet; `None` if the key is implemented.
    pub waits_for: Option<&'static str>,
    /// A description in one line.
    pub help: &'static str,
}

impl Key {
    /// Returns the default, or null if there is none.
    pub fn default_value(&self) -> Value {
        serde_json::from_str(self.default).unwrap_or_default()
    }
}

/// A row, or the rows of a section.
pub(super) enum Row {
    Key(Key),
    Section(&'static [Row]),
}

impl Row {
    /// Appends the keys of these rows, in order.
    pub(super) fn collect(rows: &'static [Row], keys: &mut Vec<Key>) {
        for row in rows {
            match row {
                Row::Key(key) => keys.push(*key),
                Row::Section(rows) => Row::collect(rows, keys),
            }
        }
    }
}

/// Declares sections of settings as structs with their part of the table: `field: Type = "key" (type of the value,
/// default as JSON, scope, when it applies, help);`. A field without parentheses is a section, one without `=` has no
/// key of its own.
macro_rules! sections {
    ($($(#[$meta:meta])* $vis:vis struct $section:ident in $prefix:literal {
        $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty $(= $name:literal
            $(($kind:expr, $default:literal, $scope:expr, $applies:expr, $help:literal))?)?;)*
    })*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Deserialize)]
        $vis struct $section {
            $(
                $(#[doc = concat!("`", $prefix, $name, "`" $(, ": ", $help)?)] #[serde(rename = $name)])?
                $(#[$field_meta])*
                $field_vis $field: $type,
            )*
        }

        impl $section {
            const ROWS: &[Row] =
                &[$($(row!($prefix, $name, $type $(, $kind, $default, $scope, $applies, $help)?),)?)*];
        }
    )*};
}

macro_rules! row {
    ($prefix:literal, $name:literal, $type:ty) => {
        Row::Section(<$type>::ROWS)
    };
    ($prefix:literal, $name:literal, $type:ty, $kind:expr, $default:literal, $scope:expr, $applies:expr, $help:literal) => {
        Row::Key(Key {
            path: concat!($prefix, $name),
            kind: $kind,
            default: $default,
            scope: $scope,
            applies: $applies,
            waits_for: None,
            help: $help,
        })
    };
}

pub(super) use {row, sections};
