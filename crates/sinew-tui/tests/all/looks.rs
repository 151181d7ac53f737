//! Tests of themes and lists.

use sinew_tui::theme::{Theme, Token, contrast};
use sinew_tui::{Color, Depth, List, Row};

#[test]
fn a_theme_file_changes_the_named_colours_and_keeps_the_rest() {
    let mut theme = Theme::dark();
    let problems =
        theme.apply([("accent", "#102030"), ("error", "rot"), ("nothing", "1"), ("muted", "240"), ("dim", "")]);
    assert_eq!(theme.color(Token::Accent), Color::Rgb(0x10, 0x20, 0x30));
    assert_eq!(theme.color(Token::Muted), Color::Indexed(240));
    assert_eq!(theme.color(Token::Dim), Color::Default);
    assert_eq!(theme.color(Token::Error), Theme::dark().color(Token::Error));
    assert_eq!(problems.len(), 2, "{problems:?}");
}

#[test]
fn text_differs_from_its_background_with_few_colours() {
    for theme in [Theme::dark(), Theme::light()] {
        for depth in [Depth::Indexed, Depth::Named] {
            for token in Token::ALL.iter().filter(|token| !token.is_background()) {
                let text = theme.color(*token).reduced(depth);
                for behind in [Token::SelectedBg, Token::UserMessageBg] {
                    let behind = theme.color(behind).reduced(depth);
                    assert!(text == Color::Default || text != behind, "{} {token:?} at {depth:?}", theme.name);
                }
            }
        }
    }
}

#[test]
fn built_in_themes_have_enough_contrast() {
    for (theme, behind) in [(Theme::dark(), [30, 30, 30]), (Theme::light(), [255, 255, 255])] {
        for token in Token::ALL.iter().filter(|token| !token.is_background()) {
            if let Color::Rgb(r, g, b) = theme.color(*token) {
                let found = contrast([r, g, b], behind);
                assert!(found >= 4.5, "{} {token:?}: {found}", theme.name);
            }
        }
    }
}

#[test]
fn the_ansi_theme_sets_no_background() {
    for token in Token::ALL {
        assert_eq!(Theme::ansi().style(*token).bg, Color::Default);
    }
}

#[test]
fn a_list_filters_and_keeps_its_selection_visible() {
    let entries = ["alpha", "beta", "gamma", "delta"].map(|name| (name.to_owned(), "text".to_owned()));
    let mut list = List::new(entries.to_vec());
    list.step(3);
    assert_eq!(list.chosen(), Some(3));
    let (rows, at) = list.rows(12, 2, &Theme::ansi());
    assert_eq!(rows.iter().map(Row::text).collect::<Vec<_>>(), ["  gamma  te…", "→ delta  te…"]);
    assert_eq!(at, 1);
    list.set_filter("gm");
    assert_eq!(list.chosen(), Some(2));
    list.set_filter("zzz");
    assert_eq!(list.chosen(), None);
}

#[test]
fn backgrounds_are_mixed_from_the_reported_colours() {
    for (theme, behind, text) in [(Theme::dark(), [0, 43, 54], [131, 148, 150]), (Theme::light(), [255; 3], [0; 3])] {
        let theme = theme.on_terminal(behind, text);
        for token in [Token::UserMessageBg, Token::SelectedBg] {
            let Color::Rgb(r, g, b) = theme.color(token) else { panic!("{token:?}") };
            let far = contrast([r, g, b], behind);
            assert!(far > 1.0 && far < 1.3, "{} {token:?}: {far}", theme.name);
        }
    }
    assert_eq!(Theme::ansi().on_terminal([0; 3], [255; 3]), Theme::ansi());
}
