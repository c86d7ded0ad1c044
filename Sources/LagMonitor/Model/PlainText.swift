/// Text for a terminal, a log or a column: the one place that removes from names what would change how the rest is shown.
///
/// A program's author chooses the names of its threads, functions and files; an operator reads them beside our text. Without
/// this, a name could clear the screen (ESC), set its title (OSC), start a new line, or reverse the text beside it.
package enum PlainText {
    /// Replaces each control and format character by U+FFFD, among them ESC, newlines, C1 and the marks for the writing
    /// direction.
    package static func sanitized(_ bytes: some Sequence<UInt8>) -> String {
        sanitized(String(decoding: Array(bytes), as: UTF8.self))
    }

    package static func sanitized(_ text: String) -> String {
        // Most texts are plain; they are not copied.
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
