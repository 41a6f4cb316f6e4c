//! Which forms a text may take where go-yaml 3 prints it: plain, quoted, block.

/// The indicators behind `|`: an indent if the text begins with white space,
/// `-` if it does not end in a line break, `+` if it ends in several.
pub(super) fn block_hints(text: &str) -> String {
    let mut hints = String::new();
    if text.starts_with([' ', '\n']) {
        hints.push('2');
    }
    if !text.ends_with('\n') {
        hints.push('-');
    } else if text == "\n" || text.ends_with("\n\n") {
        hints.push('+');
    }
    hints
}

/// Which forms a text may take.
pub(crate) struct Analysis {
    pub(crate) block_plain_allowed: bool,
    pub(crate) flow_plain_allowed: bool,
    pub(crate) single_quoted_allowed: bool,
    pub(crate) block_allowed: bool,
}

impl Analysis {
    pub(crate) fn of(text: &str) -> Self {
        if text.is_empty() {
            return Self {
                block_plain_allowed: true,
                flow_plain_allowed: false,
                single_quoted_allowed: true,
                block_allowed: false,
            };
        }
        let mut flow_indicators = text.starts_with("---") || text.starts_with("...");
        let mut block_indicators = flow_indicators;
        let mut line_breaks = false;
        let mut special = false;
        let (mut space_break, mut break_space) = (false, false);
        let (mut after_space, mut after_break) = (false, false);
        let mut after_white = true;
        let mut letters = text.chars().peekable();
        let mut is_first = true;
        while let Some(letter) = letters.next() {
            let before_white = letters.peek().is_none_or(|next| matches!(next, ' ' | '\t'));
            match letter {
                '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"'
                | '%' | '@' | '`'
                    if is_first =>
                {
                    flow_indicators = true;
                    block_indicators = true;
                }
                '?' if is_first => {
                    flow_indicators = true;
                    block_indicators |= before_white;
                }
                '-' if is_first && before_white => {
                    flow_indicators = true;
                    block_indicators = true;
                }
                ',' | '?' | '[' | ']' | '{' | '}' => flow_indicators = true,
                ':' => {
                    flow_indicators = true;
                    block_indicators |= before_white;
                }
                '#' if after_white => {
                    flow_indicators = true;
                    block_indicators = true;
                }
                _ => {}
            }
            special |= !is_printable(letter);
            if letter == ' ' {
                break_space |= after_break;
                after_space = true;
                after_break = false;
            } else if is_break(letter) {
                line_breaks = true;
                space_break |= after_space;
                after_space = false;
                after_break = true;
            } else {
                after_space = false;
                after_break = false;
            }
            after_white = matches!(letter, ' ' | '\t') || is_break(letter) || letter == '\0';
            is_first = false;
        }
        let edge = |letter: char| letter == ' ' || is_break(letter);
        let at_edges = text.starts_with(edge) || text.ends_with(edge);
        let unfit = at_edges || break_space || space_break || special || line_breaks;
        Self {
            block_plain_allowed: !unfit && !block_indicators,
            flow_plain_allowed: !unfit && !flow_indicators,
            single_quoted_allowed: !(break_space || space_break || special),
            block_allowed: !(text.ends_with(' ') || space_break || special),
        }
    }
}

fn is_break(letter: char) -> bool {
    matches!(letter, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_printable(letter: char) -> bool {
    match letter {
        '\n' | ' '..='~' => true,
        '\u{a0}'..='\u{d7ff}' => true,
        '\u{e000}'..='\u{fffd}' => letter != '\u{feff}',
        '\u{10000}'..='\u{10ffff}' => true,
        _ => false,
    }
}

pub(super) fn needs_escape(letter: char) -> bool {
    !is_printable(letter) || is_break(letter) || matches!(letter, '"' | '\\')
}

pub(super) fn escape(letter: char) -> String {
    let short = match letter {
        '\0' => "\\0",
        '\u{7}' => "\\a",
        '\u{8}' => "\\b",
        '\t' => "\\t",
        '\n' => "\\n",
        '\u{b}' => "\\v",
        '\u{c}' => "\\f",
        '\r' => "\\r",
        '\u{1b}' => "\\e",
        '"' => "\\\"",
        '\\' => "\\\\",
        '\u{85}' => "\\N",
        '\u{a0}' => "\\_",
        '\u{2028}' => "\\L",
        '\u{2029}' => "\\P",
        _ => {
            let code = u32::from(letter);
            return match code {
                0..=0xff => format!("\\x{code:02X}"),
                0x100..=0xffff => format!("\\u{code:04X}"),
                _ => format!("\\U{code:08X}"),
            };
        }
    };
    short.to_owned()
}
