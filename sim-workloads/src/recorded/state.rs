//! `prev_state`: what becomes of a task that leaves the CPU.

/// What becomes of a task that leaves the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// It stays runnable: it was preempted or yielded.
    Runnable,
    /// It waits.
    Blocked,
    /// It is gone.
    Dead,
    /// A number whose bits mean "preempted" under some kernels and a way to wait under others: what comes next tells.
    Unsure,
}

/// The lowest bit that any kernel has printed for "preempted": 256 since 4.14, 512, 1024 or 2048 before.
const PREEMPTED: u64 = 256;
/// `EXIT_DEAD`, `EXIT_ZOMBIE`, in either order.
const EXITED: u64 = 16 | 32;

impl Left {
    /// Reads letters (`S`, `R+`, `D|W`) or a number; `None` when it is neither.
    pub fn parse(text: &str) -> Option<Left> {
        let hex = text.strip_prefix("0x").map(|hex| u64::from_str_radix(hex, 16));
        if let Some(number) =
            hex.or_else(|| text.starts_with(|c: char| c.is_ascii_digit()).then(|| text.parse()))
        {
            return number.ok().map(Left::of_bits);
        }
        let plain = |b: u8| b.is_ascii_alphabetic() || b"|+".contains(&b);
        if text.is_empty() || text.len() > 16 || !text.bytes().all(plain) {
            return None;
        }
        let first = text.as_bytes()[0];
        Some(match first {
            _ if text.ends_with('+') => Left::Runnable,
            b'R' => Left::Runnable,
            b'X' | b'Z' | b'x' => Left::Dead,
            _ => Left::Blocked,
        })
    }

    fn of_bits(bits: u64) -> Left {
        let (low, high) = (bits % PREEMPTED, bits / PREEMPTED);
        match (low, high) {
            (0, _) => Left::Runnable,
            (_, 0) if low & EXITED != 0 => Left::Dead,
            (_, 0) => Left::Blocked,
            _ => Left::Unsure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_numbers_of_every_generation() {
        let cases = [
            ("S", Left::Blocked),
            ("D", Left::Blocked),
            ("I", Left::Blocked),
            ("t", Left::Blocked),
            ("D|W", Left::Blocked),
            ("S|K", Left::Blocked),
            ("R", Left::Runnable),
            ("R+", Left::Runnable),
            ("S+", Left::Runnable),
            ("X", Left::Dead),
            ("Z", Left::Dead),
            ("0", Left::Runnable),
            ("1", Left::Blocked),
            ("2", Left::Blocked),
            ("130", Left::Blocked),
            ("0x2", Left::Blocked),
            ("16", Left::Dead),
            ("32", Left::Dead),
            ("256", Left::Runnable),
            ("512", Left::Runnable),
            ("1024", Left::Runnable),
            ("2048", Left::Runnable),
            ("4096", Left::Runnable),
            // 3.10: preempted while about to wait; 4.4: an idle worker.
            ("1026", Left::Unsure),
        ];
        for (text, left) in cases {
            assert_eq!(Left::parse(text), Some(left), "{text}");
        }
        for bad in ["", "S S", "-1", "S=", "0xz", "99999999999999999999", "abcdefghijklmnopq"] {
            assert_eq!(Left::parse(bad), None, "{bad}");
        }
    }
}
