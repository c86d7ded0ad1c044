/// A C++ lambda for which a library's template was instantiated: `routes()::{lambda()#2}` of `std::_Function_handler<void (),
/// routes()::{lambda()#2}>::_M_invoke`. The compiler inlines the lambda into the template, so that no frame belongs to the
/// lambda.
package struct TemplateClosure: Sendable, Hashable {
    /// Including its enclosing functions.
    package let text: String

    /// - Parameter name: a name or a part of one, as printed by `__cxa_demangle`, or as in gcc's debug information
    ///   (`routes()::<lambda()>`).
    /// - Returns: the first lambda in the name, and of nested ones the innermost; nil for a library's lambda, and if there is
    ///   none.
    package init?(in name: String) {
        guard let found = CPlusPlusNameReader.closure(in: name), !InAppRules.isShared(found) else { return nil }
        text = found
    }

    /// Its function, in the form of a frame's name.
    package var function: String { text + "::operator()" }

    /// The simplified name of ``function``.
    package var symbol: String { Self.simplified(function) }

    /// The simplified name of the function in which it was written.
    package var owner: String {
        let bytes = Array(text.utf8)
        let last = bytes.indices.last {
            bytes[$0...].starts(with: "::{lambda".utf8) || bytes[$0...].starts(with: "::<lambda".utf8)
        }
        return Self.simplified(String(decoding: bytes[..<(last ?? 0)], as: UTF8.self))
    }

    /// Library functions that only call the lambda for which they were instantiated. Another function instantiated for a lambda,
    /// for example a map's with the lambda as its comparison, may not have called it.
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
