use super::*;
use crate::report::{Axis, Plot, Series, Table, balance};

fn hostile() -> Page {
    let evil = "<script>alert('x')</script> & \"quotes\"";
    let mut section = Section::new(evil);
    section
        .claim(evil, evil, Verdict::Partly, evil)
        .changed_by(evil);
    section.paragraph(evil);
    let plot = Plot::new(evil)
        .x(Axis::linear(evil))
        .line(Series::new(evil, [(0.0, 1.0), (1.0, 2.0)]));
    section.figure("figure", evil, plot);
    let mut table = Table::new().left(evil);
    table.row([evil.into()]);
    section.table("table", evil, table.clone());
    section.data("data", evil, table);
    section.setting(evil, evil);
    let mut page = Page::new(evil);
    page.opening(evil);
    page.banner(evil);
    page.section("one", section);
    page.failure("two", evil, evil);
    page.fact(evil, evil);
    page
}

/// Two experiments with 3 claims that hold, 2 that do not, 1 that holds in part and 1 that was not judged.
fn judged() -> Page {
    let mut page = Page::new("judged");
    let mut one = Section::new("One");
    for verdict in [Verdict::Holds, Verdict::DoesNotHold, Verdict::Holds] {
        one.claim("It stops.", "GD 3, Adam 2", verdict, "medians");
    }
    let mut two = Section::new("Two");
    two.claim("It settles.", "GD 3", Verdict::DoesNotHold, "")
        .changed_by("a longer run");
    for verdict in [Verdict::Partly, Verdict::NotJudged, Verdict::Holds] {
        two.claim("It falls.", "GD 3, Adam 2", verdict, "medians");
    }
    two.size = "d = 100 & 1000".into();
    page.section("one", one);
    page.section("two", two);
    page
}

#[test]
fn everything_is_escaped_and_nothing_comes_from_elsewhere() {
    let html = hostile().to_html();
    balance::check(&html).unwrap();
    assert_eq!(html.matches("<script").count(), 1, "only our own: {html}");
    assert!(!html.contains("<script>alert"));
    for word in ["http", "//", "src=", "@import", "fetch", "XMLHttpRequest"] {
        // Comments of the script have two slashes and a blank.
        let html = html.replace("// ", "");
        assert!(!html.contains(word), "{word}");
    }
    assert!(html.contains("href=\"data.csv\"") && html.contains("href=\"table.csv\""));
    // The table that is only a file is not in the page: header and cell, once.
    assert_eq!(html.matches("<thead>").count(), 1);
}

#[test]
fn style_and_script_are_small_and_do_not_end_early() {
    assert!(SCRIPT.len() < 10_000, "{}", SCRIPT.len());
    assert!(STYLE.len() < 8_000, "{}", STYLE.len());
    assert!(!SCRIPT.contains("</") && !STYLE.contains('<'));
}

#[test]
fn the_page_says_how_far_it_came() {
    let mut page = hostile();
    assert!(page.to_html().contains("Still running"));
    page.stage(Stage::Interrupted);
    assert!(page.to_html().contains("was interrupted"));
    page.stage(Stage::Complete);
    let html = page.to_html();
    assert!(!html.contains("interrupted") && !html.contains("Still running"));
}

#[test]
fn the_abstract_counts_the_claims_of_the_sections() {
    let page = judged();
    let html = page.to_html();
    balance::check(&html).unwrap();
    let lead = html.split("id=\"abstract\"").nth(1).unwrap();
    let lead = lead.split("</p>").next().unwrap();
    for (verdict, words, count) in [
        (Verdict::Holds, "3 claims hold</a>", 3),
        (Verdict::DoesNotHold, "2 do not hold</a>", 2),
        (Verdict::Partly, "1 holds in some cases</a>", 1),
        (Verdict::NotJudged, "1 was not judged</a>", 1),
    ] {
        assert!(lead.contains(words), "{words} in {lead}");
        let badge = format!("<b class=\"verdict {}\">", class(verdict));
        assert_eq!(html.matches(&badge).count(), count, "{badge}");
    }
    // The contents give the counts of a section, and its size.
    for note in ["2 of 3 hold", "1 of 4 hold · d = 100 &amp; 1000"] {
        assert!(html.contains(&format!("<small>{note}</small>")), "{note}");
    }
    // Every link of the page leads to a place in it.
    for link in html.split("href=\"#").skip(1) {
        let target = link.split('"').next().unwrap();
        assert!(html.contains(&format!("id=\"{target}\"")), "{target}");
    }
}

#[test]
fn whatever_does_not_hold_says_what_would_change_it() {
    let html = judged().to_html();
    let mut found = 0;
    for claim in html.split("<li id=\"").skip(1) {
        let claim = claim.split("</li>").next().unwrap();
        let holds = claim.contains("verdict yes");
        assert_ne!(holds, claim.contains("What would change this"), "{claim}");
        found += 1;
    }
    assert_eq!(found, 7);
    assert!(html.contains("A longer run."), "{html}");
}

#[test]
fn the_figure_comes_before_the_claims_and_those_before_the_rest() {
    let html = hostile().to_html();
    let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text}"));
    let order = [
        "id=\"banner\"",
        "id=\"abstract\"",
        "<nav",
        "<section id=\"one\"",
        "<figure",
        "class=\"claims\"",
        "<h3>Method",
        "<table",
        "<script>\n",
    ];
    let places: Vec<usize> = order.iter().map(|text| at(text)).collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn a_single_plot_has_a_layout_for_wide_and_for_narrow_screens() {
    let plot = Plot::new("one").line(Series::new("a", [(0.0, 1.0), (1.0, 2.0)]));
    let mut section = Section::new("x");
    section.figure("single", "", plot.clone());
    section.figure("pair", "", crate::report::panels(&[plot.clone(), plot], 2));
    let mut page = Page::new("x");
    page.section("x", section);
    let html = page.to_html();
    let widths: Vec<&str> = html
        .split("viewBox=\"0 0 ")
        .skip(1)
        .filter_map(|rest| rest.split(' ').next())
        .collect();
    assert_eq!(widths, ["780", "368", "384", "384"]);
}

#[test]
fn fragments_become_sentences() {
    for (text, is) in [
        ("medians", "Medians."),
        ("S is unbounded", "S is unbounded."),
        ("f falls.", "f falls."),
        ("a clipped step", "A clipped step."),
        ("½ mean", "½ mean."),
        ("", ""),
    ] {
        assert_eq!(sentence(text), is);
    }
}

#[test]
fn an_empty_page_is_a_page() {
    balance::check(&Page::new("nothing").to_html()).unwrap();
}
