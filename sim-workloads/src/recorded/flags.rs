//! The flags column of an ftrace line (`Documentation/trace/ftrace.rst`, "latency trace format").

/// In what context the CPU was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Context {
    /// A task, in user or kernel mode (`.`).
    Task,
    /// A softirq (`s`).
    SoftIrq,
    /// A hard interrupt (`h`).
    HardIrq,
    /// A hard interrupt inside a softirq (`H`).
    HardInSoftIrq,
    /// A non-maskable interrupt (`z` or `Z`).
    Nmi,
}

/// The flags column: `dNh.` up to 5.1x, `dNh4.` later (migrate-disable added).
///
/// The column is kept as written (four or five bytes), so that a copy of a trace loses nothing; the methods say what
/// the letters mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flags {
    text: [u8; 5],
    len: u8,
}

impl Flags {
    /// Parses the column; `None` when a letter is none of ftrace's.
    pub fn parse(text: &str) -> Option<Flags> {
        let bytes = text.as_bytes();
        let allowed = [&b"dDbX."[..], b"NnpLBlbg.", b"zZHhs.", b"0123456789abcdef.", b"0123456789abcdef."];
        if !(4..=5).contains(&bytes.len()) || bytes.iter().zip(allowed).any(|(b, set)| !set.contains(b)) {
            return None;
        }
        let mut kept = [b' '; 5];
        kept[..bytes.len()].copy_from_slice(bytes);
        Some(Flags { text: kept, len: bytes.len() as u8 })
    }

    /// The column as it was written.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.text[..usize::from(self.len)]).unwrap_or_default()
    }

    /// Whether interrupts were off.
    pub fn irqs_off(&self) -> bool {
        matches!(self.text[0], b'd' | b'D')
    }

    /// Whether the current task's need_resched flag was set: `N` (with the preemption counter) or `n` (without).
    /// `p` is only the preemption counter's copy and `L`, `l` are the lazy flag: neither makes the task give way here.
    pub fn need_resched(&self) -> bool {
        matches!(self.text[1], b'N' | b'n' | b'B' | b'b')
    }

    /// Interrupt context.
    pub fn context(&self) -> Context {
        shown(self.text[2])
    }

    /// How deeply preemption was disabled; a kernel that does not count shows 0.
    pub fn preempt_depth(&self) -> u8 {
        match self.text[3] {
            d @ b'0'..=b'9' => d - b'0',
            d @ b'a'..=b'f' => d - b'a' + 10,
            _ => 0,
        }
    }
}

fn shown(letter: u8) -> Context {
    match letter {
        b's' => Context::SoftIrq,
        b'h' => Context::HardIrq,
        b'H' => Context::HardInSoftIrq,
        b'z' | b'Z' => Context::Nmi,
        _ => Context::Task,
    }
}

/// The interrupt context in a column of any kernel: newer ones have more than five letters. `None` when it is no such column.
pub(super) fn context(column: &str) -> Option<Context> {
    let bytes = column.as_bytes();
    ((4..=8).contains(&bytes.len()) && b"zZHhs.".contains(&bytes[2])).then(|| shown(bytes[2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_widths() {
        let f = Flags::parse("dNh.").unwrap();
        assert_eq!(
            (f.irqs_off(), f.need_resched(), f.context(), f.preempt_depth()),
            (true, true, Context::HardIrq, 0)
        );
        let f = Flags::parse("d.s4.").unwrap();
        assert_eq!((f.need_resched(), f.context(), f.preempt_depth()), (false, Context::SoftIrq, 4));
        assert_eq!(f.as_str(), "d.s4.");
        let need = |s: &str| Flags::parse(s).unwrap().need_resched();
        assert_eq!((need(".n.1."), need(".p.1."), need(".L...")), (true, false, false));
        assert_eq!(Flags::parse("....").unwrap().context(), Context::Task);
        for bad in ["", "...", "......", "dNq.", "xN..", "d.h4!"] {
            assert_eq!(Flags::parse(bad), None, "{bad}");
        }
    }
}
