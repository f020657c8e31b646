//! What Windows makes of a name, from "Naming Files, Paths, and Namespaces" in the Win32 documentation, in the plainest form.

/// Names that are devices in every directory, whatever extension stands behind them. The superscript digits are those of Latin-1.
const DEVICES: &[&str] = &[
    "CON",
    "PRN",
    "AUX",
    "NUL",
    "CONIN$",
    "CONOUT$",
    "CLOCK$",
    "COM0",
    "COM1",
    "COM2",
    "COM3",
    "COM4",
    "COM5",
    "COM6",
    "COM7",
    "COM8",
    "COM9",
    "COM\u{b9}",
    "COM\u{b2}",
    "COM\u{b3}",
    "LPT0",
    "LPT1",
    "LPT2",
    "LPT3",
    "LPT4",
    "LPT5",
    "LPT6",
    "LPT7",
    "LPT8",
    "LPT9",
    "LPT\u{b9}",
    "LPT\u{b2}",
    "LPT\u{b3}",
];

/// Whether a text, as one component, is the name of one file or directory and of nothing else.
#[must_use]
pub fn is_name(text: &str) -> bool {
    // Cut off by the system: the name would be another one.
    let is_cut = text.ends_with('.') || text.ends_with(' ');
    // Wildcards, quotes, streams, pipes, and the separators.
    let has_meaning = text.chars().any(|c| "<>:\"|?*/\\".contains(c) || u32::from(c) < 0x20);
    // Measured in UTF-16.
    let units: usize = text.chars().map(char::len_utf16).sum();
    !text.is_empty() && !is_cut && !has_meaning && units <= 255 && !is_device(text)
}

/// A device's name, alone or with spaces and an extension behind it.
fn is_device(text: &str) -> bool {
    DEVICES.iter().any(|device| {
        let start = text.get(..device.len()).is_some_and(|start| start.eq_ignore_ascii_case(device));
        let behind = start.then(|| text[device.len()..].trim_start_matches(' '));
        behind.is_some_and(|behind| behind.is_empty() || behind.starts_with('.'))
    })
}
