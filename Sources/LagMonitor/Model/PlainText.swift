/// Text that goes to a terminal, a log or a column: the one place where names lose what would change how the rest is shown.
///
/// Who writes a program chooses the names of its threads, functions and files; who watches it reads them beside our words. Without this
/// a name can clear the screen (ESC), set its title (OSC), begin a line of its own, or turn what stands beside it around.
package enum PlainText {
    /// With U+FFFD for each control and format character, among them ESC, newlines, C1 and the marks for the direction of writing.
    package static func sanitized(_ bytes: some Sequence<UInt8>) -> String {
        sanitized(String(decoding: Array(bytes), as: UTF8.self))
    }

    package static func sanitized(_ text: String) -> String {
        // The most are plain; they are not copied.
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var clean = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { clean.append(isControl(scalar) ? "\u{fffd}" : scalar) }
        return String(clean)
    }

    package static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.value < 0x7f { return scalar.value < 0x20 }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return true
        default: return false
        }
    }
}
