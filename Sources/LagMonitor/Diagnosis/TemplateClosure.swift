/// A lambda of C++ for which a library's template was made: `routes()::{lambda()#2}` of
/// `std::_Function_handler<void (), routes()::{lambda()#2}>::_M_invoke`. The compiler puts the one into the other, so that no frame is the lambda's.
package struct TemplateClosure: Sendable, Hashable {
    /// With the functions that it is in.
    package let text: String

    /// - Parameter name: a name or a part of one, as `__cxa_demangle` prints it, or as gcc has it in its debug information (`routes()::<lambda()>`).
    /// - Returns: the first one that is named in it, and within one the innermost; nil for one of a library's, and for none.
    package init?(in name: String) {
        guard let found = CPlusPlusNameReader.closure(in: name), !InAppRules.isShared(found) else { return nil }
        text = found
    }

    /// Its function, as a frame's name has it.
    package var function: String { text + "::operator()" }

    /// The simplified name of ``function``.
    package var symbol: String { Self.simplified(function) }

    /// The simplified name of the function that it was written in.
    package var owner: String {
        let bytes = Array(text.utf8)
        let last = bytes.indices.last {
            bytes[$0...].starts(with: "::{lambda".utf8) || bytes[$0...].starts(with: "::<lambda".utf8)
        }
        return Self.simplified(String(decoding: bytes[..<(last ?? 0)], as: UTF8.self))
    }

    /// Functions of libraries that do nothing but call what they were made for. Another one that was made for a lambda, as a map for how it compares, may not
    /// have called it.
    private static let callers: Set<String> = [
        "_M_invoke", "_M_run", "__invoke", "__invoke_impl", "__invoke_r", "__call", "invoke", "impl", "operator()", "do_complete",
        "complete",
    ]

    /// - Parameter symbol: the simplified name of a library's function.
    package static func isCalled(by symbol: String) -> Bool {
        let last = symbol.utf8.lastIndex(of: UInt8(ascii: ":")).map { symbol[symbol.utf8.index(after: $0)...] } ?? symbol[...]
        return callers.contains(String(last.prefix { $0 != "<" }))
    }

    private static func simplified(_ name: String) -> String {
        String(decoding: CPlusPlusNameReader.simplified(Array(name.utf8)[...]), as: UTF8.self)
    }
}
